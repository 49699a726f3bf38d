//! Model targets.

use crate::model::{Api, Endpoint, Limits, ModelTarget, Patience, Sampling};
use crate::spec::ModelSpec;

/// A model target with everything in place.
pub(super) fn resolve(spec: &ModelSpec) -> ModelTarget {
    let (provider, model) = spec.model.split_once(':').unwrap_or(("openai", &spec.model));
    ModelTarget {
        endpoint: Endpoint {
            api: Api::Openai,
            provider: provider.to_owned(),
            model: model.to_owned(),
            base_url: spec.base_url.clone().unwrap_or_default(),
            headers: Default::default(),
            dialect: None,
            key: None,
            limits: Limits::default(),
            patience: Patience::default(),
            ca_file: None,
            insecure: false,
            price: None,
            replay: None,
        },
        system: spec.system.clone(),
        sampling: Sampling {
            temperature: spec.temperature,
            top_p: spec.top_p,
            max_tokens: spec.max_tokens,
            stop: spec.stop.clone(),
            options: spec.options.clone(),
            ..Sampling::default()
        },
    }
}
