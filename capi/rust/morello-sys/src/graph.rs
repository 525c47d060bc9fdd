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
}
