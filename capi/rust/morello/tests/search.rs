// SPDX-License-Identifier: MIT
//! Searches that are watched, cancelled, shared by threads, or ended by a budget.

use morello::{Cancel, Isa, Kernel, Options, Progress, Spec, Status, TableUse};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn large() -> Spec {
    "matmul f32[1000,1000] f32[1000,1000] -> f32[1000,1000]".parse().unwrap()
}

fn medium() -> Spec {
    "matmul f32[64,48] f32[48,80] + f32[80] -> f32[64,80]".parse().unwrap()
}

fn options() -> Options {
    Options::new().isa(Isa::Avx2).search_only(true)
}

#[test]
fn progress_is_seen_on_the_calling_thread() {
    let seen = Arc::new(Mutex::new(Vec::<Progress>::new()));
    let (sink, thread) = (seen.clone(), std::thread::current().id());
    let options = options().progress(Duration::ZERO, move |progress| {
        assert_eq!(std::thread::current().id(), thread);
        sink.lock().unwrap().push(*progress);
    });
    let kernel = Kernel::with_options(&medium(), &options).unwrap();
    let stats = kernel.stats().unwrap();
    assert!(stats.optimal);
    assert_eq!(stats.lower_bound, kernel.cost());
    assert_eq!(stats.table_use, TableUse::None);
    let seen = seen.lock().unwrap();
    assert!(seen.len() > 1);
    for pair in seen.windows(2) {
        assert!(pair[0].states <= pair[1].states && pair[0].elapsed <= pair[1].elapsed);
        assert!(pair[0].lower_bound <= pair[1].lower_bound);
    }
    for progress in seen.iter() {
        assert!(progress.lower_bound <= kernel.cost());
        assert!(progress.best_cost.map_or(true, |cost| cost >= kernel.cost()));
    }
}

#[test]
fn searches_are_cancelled() {
    let cancel = Cancel::new();
    let from_inside = cancel.clone();
    let watched = options().cancel(&cancel).progress(Duration::ZERO, move |_| from_inside.cancel());
    assert_eq!(Kernel::with_options(&large(), &watched).unwrap_err().status(), Status::Cancelled);
    assert!(cancel.is_cancelled());
    let error = Kernel::with_options(&medium(), &options().cancel(&cancel)).unwrap_err();
    assert_eq!(error.status(), Status::Cancelled);
    cancel.reset();
    Kernel::with_options(&medium(), &options().cancel(&cancel)).unwrap();
}

#[test]
fn another_thread_cancels() {
    let cancel = Cancel::new();
    let options = options().cancel(&cancel).search_threads(2);
    std::thread::scope(|scope| {
        let search = scope.spawn(|| Kernel::with_options(&large(), &options));
        std::thread::sleep(Duration::from_millis(20));
        cancel.cancel();
        if let Err(error) = search.join().unwrap() {
            assert_eq!(error.status(), Status::Cancelled); // or it was quick
        }
    });
}

#[test]
fn a_panic_of_the_watcher_goes_on() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let options = options().progress(Duration::ZERO, move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        panic!("enough");
    });
    let result = std::panic::catch_unwind(|| Kernel::with_options(&large(), &options));
    assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "enough");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn a_budget_leaves_the_best_so_far() {
    let options = options().time_budget(Duration::from_micros(1));
    let kernel = Kernel::with_options(&large(), &options).unwrap();
    let stats = kernel.stats().unwrap();
    assert!(!stats.optimal);
    assert!(0.0 < stats.lower_bound && stats.lower_bound < kernel.cost());
    assert!(kernel.impl_tree().starts_with("not proven optimal"));
}

#[test]
fn search_threads_change_nothing() {
    let one = Kernel::with_options(&medium(), &options()).unwrap();
    let two = Kernel::with_options(&medium(), &options().search_threads(2)).unwrap();
    assert_eq!(one.impl_tree(), two.impl_tree());
}
