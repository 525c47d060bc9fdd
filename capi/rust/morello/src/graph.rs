// SPDX-License-Identifier: MIT
//! Graphs: Specs of several operations, put together value by value.

use crate::context::Context;
use crate::spec::c_string;
use crate::{create, error, Result, Spec, Tensor, Write};
use morello_sys as sys;
use std::ptr::NonNull;

/// A graph that is being built: inputs, constants and operations on them, which become one [`Spec`].
///
/// ```
/// use morello::{Dtype, Graph, Tensor, Write};
///
/// # fn main() -> morello::Result<()> {
/// let mut graph = Graph::new()?;
/// let x = graph.input(&Tensor::new(Dtype::F32, &[2, 4]))?;
/// let half = graph.constant(0.5)?;
/// let y = graph.apply("mul", &[x, half])?;
/// let y = graph.apply("softmax axis=1", &[y])?;
/// let spec = graph.finish(y, None, Write::Overwrite)?;
/// assert_eq!(spec.to_string(), "mul f32[2,4] 0.5 -> softmax axis=1 -> f32[2,4]");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Graph(NonNull<sys::morello_graph>);

/// An input, a constant or a result of the [`Graph`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(u32);

// SAFETY: a graph is bound to no thread; it is only changed through `&mut`.
unsafe impl Send for Graph {}
// SAFETY: what takes `&self` only reads it.
unsafe impl Sync for Graph {}

impl Graph {
    pub fn new() -> Result<Graph> {
        let context = Context::new()?;
        // SAFETY (here and below): all pointers are valid for the call; the library keeps none.
        create(|graph, err| unsafe { sys::morello_graph_create(context.as_ptr(), graph, err) })
            .map(Graph)
    }

    /// The next input, which is operand 0, 1, .. of the Spec.
    pub fn input(&mut self, tensor: &Tensor) -> Result<Value> {
        let tensor = tensor.to_raw()?;
        self.value(|graph, value, err| unsafe {
            sys::morello_graph_input(graph, &tensor, value, err)
        })
    }

    /// A constant, rounded to f32 unless it is an integer of 32 bits.
    pub fn constant(&mut self, number: f64) -> Result<Value> {
        self.value(|graph, value, err| unsafe {
            sys::morello_graph_constant(graph, number, value, err)
        })
    }

    /// The result of an operation of the Spec language on earlier values: its name, and what it is
    /// told besides its inputs, as in `"matmul"`, `"softmax axis=1"` or `"conv2d stride=2,2"`.
    pub fn apply(&mut self, operation: &str, inputs: &[Value]) -> Result<Value> {
        let operation = c_string(operation)?;
        let inputs: Vec<u32> = inputs.iter().map(|value| value.0).collect();
        let count = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
        self.value(|graph, value, err| unsafe {
            let operation = operation.as_ptr();
            sys::morello_graph_apply(graph, operation, inputs.as_ptr(), count, value, err)
        })
    }

    /// The Spec that computes `value`, which all others must be needed for. Without `out`, it is
    /// row-major, of the shape and element type that follow.
    pub fn finish(&self, value: Value, out: Option<&Tensor>, write: Write) -> Result<Spec> {
        let out = out.map(Tensor::to_raw).transpose()?;
        let out = out.as_ref().map_or(std::ptr::null(), |out| out as *const _);
        let graph = self.0.as_ptr();
        Spec::build(|_, spec, err| unsafe {
            sys::morello_graph_finish(graph, value.0, out, write.to_raw(), spec, err)
        })
    }

    /// The Spec that computes several values, each once, into outputs in this order; each as in
    /// [`Graph::finish`]. Kernels of it are run by [`crate::Kernel::run_outputs`].
    pub fn finish_outputs(&self, outputs: &[(Value, Option<&Tensor>, Write)]) -> Result<Spec> {
        let values: Vec<u32> = outputs.iter().map(|(value, ..)| value.0).collect();
        let writes: Vec<_> = outputs.iter().map(|(.., write)| write.to_raw()).collect();
        let tensors = outputs
            .iter()
            .map(|(_, out, _)| out.map(Tensor::to_raw).transpose())
            .collect::<Result<Vec<_>>>()?;
        let outs: Vec<*const sys::morello_tensor> = tensors
            .iter()
            .map(|out| out.as_ref().map_or(std::ptr::null(), |out| out as *const _))
            .collect();
        let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let (graph, values, outs) = (self.0.as_ptr(), values.as_ptr(), outs.as_ptr());
        Spec::build(|_, spec, err| unsafe {
            let writes = writes.as_ptr();
            sys::morello_graph_finish_outputs(graph, values, outs, writes, count, spec, err)
        })
    }

    fn value(
        &mut self,
        call: impl FnOnce(
            *mut sys::morello_graph,
            *mut u32,
            *mut *mut sys::morello_error,
        ) -> sys::morello_status,
    ) -> Result<Value> {
        let (mut value, mut err) = (0, std::ptr::null_mut());
        let status = call(self.0.as_ptr(), &mut value, &mut err);
        // SAFETY: `err` is null or what the library returned, and is not used again.
        unsafe { error::check(status, err) }?;
        Ok(Value(value))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: released once.
        unsafe { sys::morello_graph_release(self.0.as_ptr()) }
    }
}
