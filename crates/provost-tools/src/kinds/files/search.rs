//! `search`: lines of text, or records of JSON lines, counted and grouped.
//!
//! Owns reading the files line by line under the limits. A search of records reads every line; a
//! cheap look at the raw text decides whether the line has to be parsed. INVARIANT: `total` counts
//! every match, however few of them are shown.

use std::io::{BufRead as _, BufReader, Read as _};

use provost_run::outcome::Class;
use serde_json::Value;

use super::path::RelativePath;
use super::root::{FileEntry, OpenRoot};
use crate::deadline::Deadline;
use crate::fault::{Fault, Request};
use crate::limits::{LINE_BYTES_MAX, LINES_PER_LOOK, SEARCH_BYTES_MAX};

mod condition;
mod query;
mod tally;

use query::Query;
use tally::{LinePosition, SearchTally};

pub(super) fn search(
    root: &OpenRoot<'_>,
    request: &Request,
    deadline: &Deadline,
) -> Result<Value, Fault> {
    let query = Query::parse(&request.args)?;
    let files = root.walk(&query.glob)?;
    if files.is_empty() {
        // Why: "nothing found" must not be said of files that were never looked at.
        let glob = request.text("glob").unwrap_or_default();
        let message = format!("no file fits `{glob}`");
        return Err(Fault::no_effect(Class::NotFound, message));
    }
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    if bytes > SEARCH_BYTES_MAX {
        let message = format!(
            "the files that fit have {bytes} bytes, more than the {SEARCH_BYTES_MAX} that one \
             search reads; narrow `glob`"
        );
        return Err(Fault::no_effect(Class::InvalidArguments, message));
    }
    let mut tally = SearchTally::new(&query);
    for (index, file) in files.iter().enumerate() {
        search_file(root, file, index, &mut tally, deadline)?;
        tally.end_of_file(index);
    }
    Ok(tally.output(&files))
}

fn search_file(
    root: &OpenRoot<'_>,
    file: &FileEntry,
    index: usize,
    tally: &mut SearchTally<'_>,
    deadline: &Deadline,
) -> Result<(), Fault> {
    let (opened, _) = root.file(&RelativePath::parse("path", &file.path)?)?;
    // Why: a file that grows while it is read must not keep the search from ending.
    let mut reader = BufReader::with_capacity(64 * 1024, opened.take(file.bytes));
    let mut line = Vec::new();
    let mut number = 0u64;
    let line_max = LINE_BYTES_MAX as u64;
    loop {
        line.clear();
        let read = reader.by_ref().take(line_max).read_until(b'\n', &mut line);
        let read = read.map_err(|error| root.broken(&file.path, &error.to_string()))?;
        if read == 0 {
            return Ok(());
        }
        number += 1;
        if number.is_multiple_of(LINES_PER_LOOK) && deadline.is_over() {
            return Err(deadline.fault());
        }
        let whole = line.last() == Some(&b'\n') || read < LINE_BYTES_MAX;
        if !whole {
            reader
                .skip_until(b'\n')
                .map_err(|error| root.broken(&file.path, &error.to_string()))?;
            tally.too_long();
            continue;
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        tally.line(
            LinePosition {
                file: index,
                line: number,
            },
            &line,
        )?;
    }
}
