//! Where the harness' own control groups lie: read from `/proc/self/cgroup` and
//! `/proc/self/mountinfo`. Pure.
//!
//! A machine has one hierarchy of version 2, or one of version 1 for each controller, or both at
//! once (hybrid), where each controller belongs to one of them. A container may see only a part of
//! a hierarchy.

use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CgroupVersion {
    V1,
    V2,
}

impl fmt::Display for CgroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CgroupVersion::V1 => "v1",
            CgroupVersion::V2 => "v2",
        })
    }
}

/// What we want groups for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CgroupController {
    Memory,
    Pids,
}

impl CgroupController {
    pub const ALL: [CgroupController; 2] = [CgroupController::Memory, CgroupController::Pids];

    pub fn name(self) -> &'static str {
        match self {
            CgroupController::Memory => "memory",
            CgroupController::Pids => "pids",
        }
    }
}

/// The harness' own group in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CgroupPlace {
    pub version: CgroupVersion,
    pub folder: PathBuf,
    /// Never empty.
    pub controllers: Vec<CgroupController>,
}

impl CgroupPlace {
    pub fn has(&self, controller: CgroupController) -> bool {
        self.controllers.contains(&controller)
    }
}

/// Why there is no place for a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MissingController {
    /// No hierarchy with the controller is mounted, or it is switched off.
    NotMounted,
    /// The mount shows other groups than ours.
    Outside,
    ReadOnly(PathBuf),
}

impl fmt::Display for MissingController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissingController::NotMounted => f.write_str("no control group with it is mounted"),
            MissingController::Outside => {
                f.write_str("our own control group is not below what is mounted")
            }
            MissingController::ReadOnly(at) => write!(f, "{} is mounted read-only", at.display()),
        }
    }
}

/// Where each controller of [`CgroupController::ALL`] can be had; hierarchies that serve several are told
/// once.
pub(crate) struct CgroupLayout {
    pub places: Vec<CgroupPlace>,
    pub missing: Vec<(CgroupController, MissingController)>,
}

/// `own` is the text of `/proc/self/cgroup`, `mountinfo` that of `/proc/self/mountinfo`; `offered`
/// reads the controllers that a group of version 2 offers (its `cgroup.controllers`).
pub(crate) fn find(own: &str, mountinfo: &str, offered: &dyn Fn(&Path) -> String) -> CgroupLayout {
    let mounts: Vec<CgroupMount> = mountinfo.lines().filter_map(mount).collect();
    let mut layout = CgroupLayout {
        places: Vec::new(),
        missing: Vec::new(),
    };
    let unified = own_path(own, None).and_then(|path| visible(&mounts, None, path));
    for controller in CgroupController::ALL {
        let in_v2 = |folder: &PathBuf| {
            offered(folder)
                .split_whitespace()
                .any(|c| c == controller.name())
        };
        let found = match &unified {
            Ok(folder) if in_v2(folder) => Ok((CgroupVersion::V2, folder.clone())),
            _ => own_path(own, Some(controller))
                .and_then(|path| visible(&mounts, Some(controller), path))
                .map(|folder| (CgroupVersion::V1, folder))
                // Where there is no version 1 at all, version 2 says what is wrong.
                .map_err(|why| match (&unified, why) {
                    (Err(MissingController::NotMounted) | Ok(_), why) => why,
                    (Err(of_v2), MissingController::NotMounted) => of_v2.clone(),
                    (_, why) => why,
                }),
        };
        match found {
            Ok((version, folder)) => match layout.places.iter_mut().find(|p| p.folder == folder) {
                Some(place) => place.controllers.push(controller),
                None => layout.places.push(CgroupPlace {
                    version,
                    folder,
                    controllers: vec![controller],
                }),
            },
            Err(why) => layout.missing.push((controller, why)),
        }
    }
    layout
}

/// Our group in the hierarchy of version 1 that has the controller, or in that of version 2 for
/// `None`.
fn own_path(own: &str, controller: Option<CgroupController>) -> Result<&str, MissingController> {
    own.lines()
        .find_map(|line| {
            // hierarchy:controllers:path, where version 2 has hierarchy 0 and names no controllers.
            let mut parts = line.splitn(3, ':');
            let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let ours = match controller {
                None => number == "0" && controllers.is_empty(),
                Some(wanted) => controllers.split(',').any(|c| c == wanted.name()),
            };
            ours.then_some(path)
        })
        .ok_or(MissingController::NotMounted)
}

struct CgroupMount {
    /// Which group stands at the mount point.
    root: String,
    point: PathBuf,
    version: CgroupVersion,
    options: String,
    read_only: bool,
}

/// A line of mountinfo (proc_pid_mountinfo(5)) when it is one of control groups.
fn mount(line: &str) -> Option<CgroupMount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(3);
    let (root, point, flags) = (fields.next()?, fields.next()?, fields.next()?);
    let mut fields = after.split(' ');
    let version = match fields.next()? {
        "cgroup" => CgroupVersion::V1,
        "cgroup2" => CgroupVersion::V2,
        _ => return None,
    };
    let options = fields.nth(1).unwrap_or_default();
    let read_only = |options: &str| options.split(',').any(|o| o == "ro");
    Some(CgroupMount {
        root: unescape(root),
        point: PathBuf::from(unescape(point)),
        version,
        options: options.to_owned(),
        read_only: read_only(flags) || read_only(options),
    })
}

/// Blanks and backslashes of paths stand in mountinfo as three octal digits.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = (*first == b'\\')
            .then(|| after.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                out.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The folder of the group `path`; a mount that may be written goes before one that may not.
fn visible(
    mounts: &[CgroupMount],
    controller: Option<CgroupController>,
    path: &str,
) -> Result<PathBuf, MissingController> {
    let mut missing = MissingController::NotMounted;
    for mount in mounts {
        let fits = match controller {
            None => mount.version == CgroupVersion::V2,
            Some(c) => {
                mount.version == CgroupVersion::V1
                    && mount.options.split(',').any(|o| o == c.name())
            }
        };
        if !fits {
            continue;
        }
        match below(&mount.root, path) {
            Some(_) if mount.read_only => {
                missing = MissingController::ReadOnly(mount.point.clone())
            }
            // Joining nothing would leave a slash at the end.
            Some("") => return Ok(mount.point.clone()),
            Some(rest) => return Ok(mount.point.join(rest)),
            None if missing == MissingController::NotMounted => {
                missing = MissingController::Outside
            }
            None => {}
        }
    }
    Err(missing)
}

/// `path` as seen from the group `root`, without a leading slash; `None` when it lies elsewhere.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    if path.split('/').any(|part| part == "..") || path.ends_with(" (deleted)") {
        return None;
    }
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(own: &str, mountinfo: &str, offered: &str) -> String {
        let layout = find(own, mountinfo, &|_| offered.to_owned());
        let places = layout.places.iter().map(|p| {
            let names: Vec<&str> = p.controllers.iter().map(|c| c.name()).collect();
            format!(
                "{} {} at {}",
                p.version,
                names.join("+"),
                p.folder.display()
            )
        });
        let missing = layout
            .missing
            .iter()
            .map(|(c, why)| format!("no {}: {why}", c.name()));
        places.chain(missing).collect::<Vec<_>>().join("\n")
    }

    const V2: &str =
        "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";

    #[test]
    fn version_2_serves_both_from_one_folder() {
        let own = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n";
        let told = told(own, V2, "cpu io memory pids");
        insta::assert_snapshot!(told, @"v2 memory+pids at /sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope");
    }

    #[test]
    fn a_controller_that_is_not_delegated_is_missing() {
        insta::assert_snapshot!(told("0::/user.slice\n", V2, "pids"), @r"
        v2 pids at /sys/fs/cgroup/user.slice
        no memory: no control group with it is mounted
        ");
    }

    const V1: &str = "\
33 24 0:30 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
34 24 0:31 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids
35 24 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct";

    #[test]
    fn version_1_has_a_folder_for_each() {
        let own = "12:pids:/user.slice\n5:cpu,cpuacct:/\n3:memory:/a/b:c\n";
        insta::assert_snapshot!(told(own, V1, ""), @r"
        v1 memory at /sys/fs/cgroup/memory/a/b:c
        v1 pids at /sys/fs/cgroup/pids/user.slice
        ");
    }

    #[test]
    fn controllers_that_share_a_hierarchy_share_a_folder() {
        let mount = "33 24 0:30 / /cg rw - cgroup none rw,pids,memory";
        insta::assert_snapshot!(told("3:pids,memory:/x\n", mount, ""), @"v1 memory+pids at /cg/x");
    }

    #[test]
    fn hybrid_takes_each_controller_from_where_it_is() {
        let own = "8:pids:/\n4:memory:/m/8e27\n1:name=systemd:/\n0::/\n";
        let mounts = format!("{V1}\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
        insta::assert_snapshot!(told(own, &mounts, ""), @r"
        v1 memory at /sys/fs/cgroup/memory/m/8e27
        v1 pids at /sys/fs/cgroup/pids
        ");
        insta::assert_snapshot!(told(own, &mounts, "pids"), @r"
        v1 memory at /sys/fs/cgroup/memory/m/8e27
        v2 pids at /sys/fs/cgroup/unified
        ");
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_mounts_root() {
        let mounts = "700 690 0:30 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";
        insta::assert_snapshot!(told("4:memory:/docker/abc\n", mounts, ""), @r"
        v1 memory at /sys/fs/cgroup/memory
        no pids: no control group with it is mounted
        ");
        insta::assert_snapshot!(told("4:memory:/docker/abc/in/side\n", mounts, "").lines().next().unwrap(), @"v1 memory at /sys/fs/cgroup/memory/in/side");
        // A name that only begins like ours is another group.
        insta::assert_snapshot!(told("4:memory:/docker/abcd\n", mounts, "").lines().next().unwrap(), @"no memory: our own control group is not below what is mounted");
    }

    #[test]
    fn a_group_outside_of_the_namespace_is_not_ours_to_use() {
        insta::assert_snapshot!(told("0::/../../elsewhere\n", V2, "memory pids"), @r"
        no memory: our own control group is not below what is mounted
        no pids: our own control group is not below what is mounted
        ");
        insta::assert_snapshot!(told("0::/gone (deleted)\n", V2, "memory pids").lines().next().unwrap(), @"no memory: our own control group is not below what is mounted");
    }

    #[test]
    fn read_only_is_told_and_a_second_mount_that_can_be_written_is_taken() {
        let read_only = "30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw";
        insta::assert_snapshot!(told("0::/\n", read_only, "memory pids"), @r"
        no memory: /sys/fs/cgroup is mounted read-only
        no pids: /sys/fs/cgroup is mounted read-only
        ");
        let both = format!("{read_only}\n31 23 0:26 / /mnt/my\\040groups rw - cgroup2 cgroup rw");
        insta::assert_snapshot!(told("0::/\n", &both, "memory pids"), @"v2 memory+pids at /mnt/my groups");
    }

    #[test]
    fn nonsense_is_nothing() {
        for (own, mounts) in [
            ("", ""),
            ("::", " - "),
            ("0:", "1 2 3 - cgroup2"),
            ("a:b:c", "\\9 - cgroup x y"),
        ] {
            let layout = find(own, mounts, &|_| String::new());
            assert!(layout.places.is_empty());
            assert_eq!(layout.missing.len(), 2);
        }
        assert_eq!(unescape("a\\04"), "a\\04");
        assert_eq!(unescape("\\134\\040x"), "\\ x");
    }
}
