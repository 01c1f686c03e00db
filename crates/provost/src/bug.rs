//! What a bug of this program looks like: one message, no backtrace.

use provost_plan::render::escape;

/// Makes a panic print a short message in place of the runtime's.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |place| {
            let file = place.file().rsplit('/').next().unwrap_or_default();
            format!(" ({file}:{})", place.line())
        });
        let payload = info.payload();
        let said = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no reason was given");
        crate::output::note(&format!(
            "error: this is a bug in provost{place}: {}\n\n\
             hint: nothing recorded is lost; `provost resume RUN` \
             continues an unfinished run. please report this message\n",
            escape(said)
        ));
    }));
}
