// SPDX-License-Identifier: MIT
//! Tables: made, kept in files and memory, merged, and kernels without a search.

use morello::{
    Cancel, Context, Isa, Kernel, Options, Precompute, Spec, Status, Table, TableReason, TableUse,
};
use std::path::PathBuf;
use std::time::Duration;

const MATMULS: &str = "matmul f32[<=8,16] f32[16,<=8]";
const RELUS: &str = "relu f32[<=32]";

/// A directory that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("morello-rust-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn made(folder: &Folder, name: &str, families: &[&str]) -> Table {
    let path = folder.file(name);
    Precompute::new().isa(Isa::Avx2).run(families, &path).unwrap();
    Table::load(&path).unwrap()
}

fn matmul() -> Spec {
    "matmul f32[6,16] f32[16,8] -> f32[6,8]".parse().unwrap()
}

fn relu() -> Spec {
    "relu f32[24] -> f32[24]".parse().unwrap()
}

#[test]
fn covered_specs_need_no_search() {
    let folder = Folder::new("covered");
    let table = made(&folder, "t.mtab", &[MATMULS]);
    assert!(table.covers(&matmul()) && !table.covers(&relu()));
    let options = Options::new().isa(Isa::Avx2);
    let with_table = options.clone().table(&table);
    let kernel = Kernel::with_options(&matmul(), &with_table).unwrap();
    let stats = kernel.stats().unwrap();
    assert_eq!((stats.table_use, stats.states), (TableUse::Answered, 0));
    assert!(stats.optimal && stats.search.is_zero() && !stats.lookup.is_zero());
    assert_eq!(kernel.code(), Kernel::with_options(&matmul(), &options).unwrap().code());
    let kernel = Kernel::with_options(&relu(), &with_table).unwrap();
    let stats = kernel.stats().unwrap();
    assert_eq!((stats.table_use, stats.table_reason), (TableUse::NotCovered, TableReason::Spec));

    let other = with_table.threads(2);
    let stats = Kernel::with_options(&matmul(), &other).unwrap().stats().unwrap();
    assert_eq!((stats.table_use, stats.table_reason), (TableUse::NotCovered, TableReason::Threads));
    let error = Kernel::with_options(&matmul(), &other.strict_table(true)).unwrap_err();
    assert_eq!(error.status(), Status::IncompatibleTable);
}

#[test]
fn tables_in_memory() {
    let folder = Folder::new("memory");
    let expected = made(&folder, "t.mtab", &["relu f32[<=4]", MATMULS]).to_bytes().unwrap();
    assert_eq!(expected, std::fs::read(folder.file("t.mtab")).unwrap());
    let (context, solve) = (Context::new().unwrap(), Precompute::new().isa(Isa::Avx2));
    let relus = solve.table_in(&context, &["relu f32[<=4]"], None).unwrap();
    let both = solve.table_in(&context, &[MATMULS], Some(&relus)).unwrap();
    assert_eq!(both.to_bytes().unwrap(), expected);
    assert!(Table::from_bytes(&expected).unwrap().covers(&matmul()));
    let two = solve.clone().threads(2).table_in(&context, &[MATMULS], Some(&relus)).unwrap();
    assert_eq!((two.info().unwrap().parts, relus.info().unwrap().parts), (2, 1));
    assert_eq!(two.part(1).unwrap().info().unwrap().threads, 2);
    assert_eq!(two.part(2).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(two.part(0).unwrap().to_bytes().unwrap(), relus.to_bytes().unwrap());
    assert_eq!(two.miss(&matmul()), "");
    assert!(relus.miss(&matmul()).starts_with("avx2, 1 thread: no family computes"));
}

#[test]
fn tables_describe_themselves() {
    let folder = Folder::new("info");
    let table = made(&folder, "t.mtab", &[MATMULS]);
    let info = table.info().unwrap();
    assert_eq!((info.isa, info.threads), (Some(Isa::Avx2), 1));
    assert!(info.points > 0 && info.boxes >= info.groups && info.bytes > 0);
    assert_eq!(table.families().len(), 1);
    assert_eq!(format!("{table:?}"), format!("Table({:?})", table.families()));
    let (members, covered) = table.coverage(MATMULS).unwrap();
    assert!(members > 0);
    assert_eq!(members, covered);
    assert_eq!(table.coverage(RELUS).unwrap().1, 0);
    assert_eq!(table.coverage("nonsense").unwrap_err().status(), Status::SyntaxError);
}

#[test]
fn files_and_bytes() {
    let folder = Folder::new("files");
    let table = made(&folder, "t.mtab", &[MATMULS]);
    table.save(folder.file("copy.mtab")).unwrap();
    let bytes = std::fs::read(folder.file("copy.mtab")).unwrap();
    assert_eq!(bytes, std::fs::read(folder.file("t.mtab")).unwrap());
    assert!(Table::from_bytes(&bytes).unwrap().covers(&matmul()));

    for bad in [&bytes[..bytes.len() - 1], &bytes[..10], &[][..]] {
        assert_eq!(Table::from_bytes(bad).unwrap_err().status(), Status::CorruptTable);
    }
    let missing = Table::load(folder.file("missing")).unwrap_err();
    assert_eq!(missing.status(), Status::IoError);
    assert!(missing.message().contains("missing"));
    assert_eq!(table.save(folder.file("no/t.mtab")).unwrap_err().status(), Status::IoError);
    assert_eq!(Table::load("a\0b").unwrap_err().status(), Status::InvalidArgument);
}

#[test]
fn tables_merge() {
    let folder = Folder::new("merge");
    let (a, b) = (made(&folder, "a.mtab", &[MATMULS]), made(&folder, "b.mtab", &[RELUS]));
    let both = a.merge(&b).unwrap();
    drop((a, b));
    assert!(both.covers(&matmul()) && both.covers(&relu()));
    both.save(folder.file("both.mtab")).unwrap();
    made(&folder, "once.mtab", &[RELUS, MATMULS]);
    let read = |name| std::fs::read(folder.file(name)).unwrap();
    assert_eq!(read("both.mtab"), read("once.mtab"));
}

#[test]
fn threads_share_a_table() {
    let folder = Folder::new("threads");
    let options = Options::new().isa(Isa::Avx2).table(&made(&folder, "t.mtab", &[MATMULS]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let options = options.clone();
            scope.spawn(move || {
                let kernel = Kernel::with_options(&matmul(), &options).unwrap();
                assert_eq!(kernel.stats().unwrap().table_use, TableUse::Answered);
            });
        }
    });
}

#[test]
fn precomputes_are_watched_and_cancelled() {
    let folder = Folder::new("cancel");
    let path = folder.file("t.mtab");
    let cancel = Cancel::new();
    cancel.cancel();
    let stopped = Precompute::new().cancel(&cancel).run(&[MATMULS], &path);
    assert_eq!(stopped.unwrap_err().status(), Status::Cancelled);
    cancel.reset();
    let last = std::sync::Arc::new(std::sync::Mutex::new(None));
    let sink = last.clone();
    let watched = Precompute::new().cancel(&cancel).workers(2).progress(
        Duration::from_millis(1),
        move |progress| {
            *sink.lock().unwrap() = Some(*progress);
        },
    );
    watched.run(&[MATMULS], &path).unwrap();
    let last = last.lock().unwrap().expect("called at the end");
    assert!(last.members > 0);
    assert_eq!(last.done, last.members);
    let error = Precompute::new().run(&["matmul f32[<=8"], &path).unwrap_err();
    assert_eq!(error.status(), Status::SyntaxError);
    assert!(error.line().is_some());
}

#[test]
fn tables_are_looked_into() {
    let folder = Folder::new("inspect");
    let table = made(&folder, "t.mtab", &[MATMULS]);
    let found = table.verify(3, 7).unwrap();
    assert_eq!(
        (found.promised, found.searched, found.failures),
        (table.info().unwrap().points, 3, 0)
    );
    assert!(found.pairs > found.promised && found.failure.is_empty());
    assert!(table.dump(false).contains("muladd"));
    assert!(table.dump(true).starts_with('{') && table.dump(true).trim_end().ends_with('}'));
    let picture = table.plot(None, None, Some("L1")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert!(table.plot(Some(0), None, None).is_ok());
    for wrong in [table.plot(Some(9999), None, None), table.plot(None, Some("q"), None)] {
        assert_eq!(wrong.unwrap_err().status(), Status::InvalidArgument);
    }
    assert!(table.plot(None, Some("a\0b"), None).is_err());
}
