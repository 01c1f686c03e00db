//! Whether somebody wrote: asked by many, looked at by one.

use std::time::{Duration, Instant};

use provost_engine::limits::WOKEN_EVERY;
use provost_engine::store::Store;

use super::append;

/// Asks until `holds`, for at most a few seconds; whether it did.
fn until(mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        if holds() {
            return true;
        }
    }
    false
}

#[test]
fn a_process_looks_once_for_all_its_runs_whether_somebody_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (begun, asked) = (Instant::now(), 100_000);
    for _ in 0..asked {
        store.woken().unwrap();
    }
    let most = begun.elapsed().as_millis() / WOKEN_EVERY.as_millis() + 1;
    let looks = u128::from(store.counts().looks);
    assert!((1..=most).contains(&looks), "{looks} looks, {most} allowed");
}

#[test]
fn who_waits_is_woken_by_what_another_process_writes_and_by_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let stores = [(); 2].map(|()| Store::open(dir.path()).unwrap());
    let [one, other] = &stores;
    other.append(append("run", 0, 1)).wait().unwrap();
    let before = one.woken().unwrap();
    // The control: nobody writes, and looks change nothing.
    let looked = one.counts().looks;
    assert!(until(|| {
        assert_eq!(one.woken().unwrap(), before);
        one.counts().looks >= looked + 2
    }));
    other.post("run", "a statement", 1).wait().unwrap();
    assert!(until(|| one.woken().unwrap() != before));
}
