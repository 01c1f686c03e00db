//! Moving and deleting one file.
//!
//! Owns both ends of a move. Never takes a folder, a link or a file with a second name, and never
//! replaces what stands there. INVARIANT: the file stands under one of the two names, and what is
//! deleted is what was looked at by name a moment before, below the root.

use std::os::fd::OwnedFd;

use provost_run::outcome::{Class, Landing};
use rustix::fs::{AtFlags, RenameFlags, Stat, fsync, renameat_with, unlinkat};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::path::RelativePath;
use super::root::OpenRoot;
use super::write::existing;
use crate::fault::{Fault, Request};

pub(super) fn delete(root: &OpenRoot<'_>, request: &Request) -> Result<Value, Fault> {
    let path = RelativePath::of(request, "path")?;
    let (folder, stat) = found(root, &path)?;
    let (shown, (_, name)) = (path.shown(), path.split());
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(absent(&shown)),
        Err(errno) => return Err(root.broken(&shown, &errno.to_string())),
    }
    kept(&folder, &shown, "deleted")?;
    Ok(json!({"path": shown, "bytes": stat.st_size}))
}

pub(super) fn rename(root: &OpenRoot<'_>, request: &Request) -> Result<Value, Fault> {
    let path = RelativePath::of(request, "path")?;
    let to = RelativePath::of(request, "to")?;
    let (folder, stat) = found(root, &path)?;
    let (shown, target) = (path.shown(), to.shown());
    let ((_, name), (_, new_name)) = (path.split(), to.split());
    root.check_name("to", new_name, &target)?;
    let new_folder = root.parent(&to)?;
    let flags = RenameFlags::NOREPLACE;
    match renameat_with(&folder, name, &new_folder, new_name, flags) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(absent(&shown)),
        Err(Errno::EXIST) => return Err(taken(&target)),
        Err(errno) => return Err(root.broken(&shown, &errno.to_string())),
    }
    kept(&new_folder, &target, "moved")?;
    kept(&folder, &shown, "moved")?;
    Ok(json!({"path": shown, "to": target, "bytes": stat.st_size}))
}

/// The folder of a file that may be taken away, and what stands there.
fn found(root: &OpenRoot<'_>, path: &RelativePath) -> Result<(OwnedFd, Stat), Fault> {
    let shown = path.shown();
    let (_, name) = path.split();
    root.check_name("path", name, &shown)?;
    let folder = root.parent(path)?;
    match existing(root, path, &folder, true)? {
        Some(stat) => Ok((folder, stat)),
        None => Err(absent(&shown)),
    }
}

/// Why without a way out in provost.toml: there is none for a move.
fn taken(shown: &str) -> Fault {
    let message = format!("`{shown}` exists already, and `move` replaces nothing");
    Fault::no_effect(Class::Conflict, message)
}

fn absent(shown: &str) -> Fault {
    Fault::no_effect(Class::NotFound, format!("there is no file `{shown}`"))
}

fn kept(folder: &OwnedFd, shown: &str, what: &str) -> Result<(), Fault> {
    fsync(folder).map_err(|errno| {
        let message = format!("`{shown}` was {what}, but that may not survive a crash: {errno}");
        Fault::new(Class::Unavailable, Landing::Unknown, message)
    })
}
