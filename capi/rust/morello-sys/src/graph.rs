// SPDX-License-Identifier: MIT
//! Graphs that are built value by value.

use super::*;

opaque!(morello_graph);

extern "C" {
    pub fn morello_graph_create(
        context: *const morello_context,
        graph: *mut *mut morello_graph,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_graph_release(graph: *mut morello_graph);
    pub fn morello_graph_input(
        graph: *mut morello_graph,
        tensor: *const morello_tensor,
        value: *mut u32,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_graph_constant(
        graph: *mut morello_graph,
        number: f64,
        value: *mut u32,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_graph_apply(
        graph: *mut morello_graph,
        operation: *const c_char,
        inputs: *const u32,
        input_count: u32,
        value: *mut u32,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_graph_finish(
        graph: *const morello_graph,
        value: u32,
        out: *const morello_tensor,
        accumulate: c_int,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_graph_finish_outputs(
        graph: *const morello_graph,
        values: *const u32,
        outs: *const *const morello_tensor,
        accumulate: *const c_int,
        count: u32,
        spec: *mut *mut morello_spec,
        err: *mut *mut morello_error,
    ) -> morello_status;

    // Of what has several outputs.
    pub fn morello_spec_output_count(spec: *const morello_spec) -> u32;
    pub fn morello_spec_evaluate_output_at(
        spec: *const morello_spec,
        output: u32,
        operands: *const *mut c_void,
        elements: *const i64,
        count: usize,
        values: *mut f64,
        err: *mut *mut morello_error,
    ) -> morello_status;
    pub fn morello_kernel_output_count(kernel: *const morello_kernel) -> u32;
}
