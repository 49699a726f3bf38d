//! What a suite says of itself, without its evals.

use super::{SuiteLoader, load};
use crate::load::baselines;
use crate::load::kinds::detect;
use crate::load::request::{LoadRequest, LoadedOverview, LoadedPlan, SuiteOverview};
use crate::load::session::LoadSession;
use crate::spec::SchemaKind;

/// What a suite says of itself; the files of its evals are not opened, unless it is an eval file
/// itself.
pub fn overview(request: &LoadRequest) -> LoadedOverview {
    let mut session = LoadSession {
        purpose: request.purpose,
        cwd: request.cwd.clone(),
        ..LoadSession::default()
    };
    let mut loader = SuiteLoader::new(request, &mut session);
    let path = loader.path.clone();
    let node = loader.session.parse(&path, None);
    let suite = match node {
        Some(mut node) if detect(&node) == Some(SchemaKind::Suite) => {
            let head = loader.suite_head(&mut node);
            head.spec.map(|spec| SuiteOverview {
                baselines: baselines::settings(spec.baselines.as_ref(), &loader.dir, &loader.root),
                name: spec.name,
                root: loader.root.clone(),
            })
        }
        // An eval file is a suite of its own evals' name, or no suite at all.
        _ => {
            let LoadedPlan {
                plan,
                problems,
                sources,
                ..
            } = load(request);
            let suite = plan.map(|p| SuiteOverview {
                name: p.suite.name,
                baselines: p.baselines,
                root: p.suite.root,
            });
            return LoadedOverview {
                suite,
                problems,
                sources,
            };
        }
    };
    let LoadSession {
        problems, sources, ..
    } = session;
    LoadedOverview {
        suite: suite.filter(|_| !problems.has_errors()),
        problems,
        sources,
    }
}
