//! What was found: plain data, the same for people and for machines.

use serde::Serialize;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It is there and in use, or ready.
    Ok,
    /// It is there in part, or something weaker takes its place.
    Limited,
    Missing,
    /// It is not there, and nothing is lost by it.
    Unused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckGroup {
    Isolation,
    Limits,
    Languages,
    Tools,
    Configuration,
}

impl CheckGroup {
    pub const ALL: [CheckGroup; 5] = [
        CheckGroup::Isolation,
        CheckGroup::Limits,
        CheckGroup::Languages,
        CheckGroup::Tools,
        CheckGroup::Configuration,
    ];

    pub fn title(self) -> &'static str {
        match self {
            CheckGroup::Isolation => "Isolation",
            CheckGroup::Limits => "Limits",
            CheckGroup::Languages => "Languages",
            CheckGroup::Tools => "Tools",
            CheckGroup::Configuration => "Configuration",
        }
    }
}

/// One line of the page.
#[derive(Debug, Clone, Serialize)]
pub struct DoctorCheck {
    pub group: CheckGroup,
    pub name: String,
    pub state: CheckState,
    /// What it is, or why it is not.
    pub value: String,
    /// The file as it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The file behind a shim or a link, when it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What a user can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl DoctorCheck {
    pub fn new(
        group: CheckGroup,
        name: &str,
        state: CheckState,
        value: impl Into<String>,
    ) -> DoctorCheck {
        DoctorCheck {
            group,
            name: name.to_owned(),
            state,
            value: value.into(),
            path: None,
            real_path: None,
            version: None,
            fix: None,
        }
    }

    pub fn fix(self, fix: impl Into<String>) -> DoctorCheck {
        DoctorCheck {
            fix: Some(fix.into()),
            ..self
        }
    }
}

pub struct DoctorFindings {
    pub version: String,
    /// Operating system and processor.
    pub system: String,
    /// Empty where it is not known.
    pub kernel: String,
    pub cpus: usize,
    /// The tier that code runs in; `None`: it can't be isolated.
    pub tier: Option<String>,
    /// What the sandbox has to say of itself.
    pub notes: Vec<String>,
    pub checks: Vec<DoctorCheck>,
}

impl DoctorFindings {
    pub fn as_json(&self) -> Value {
        let of_group = |group: CheckGroup| -> Value {
            let checks = self.checks.iter().filter(|check| check.group == group);
            let named = checks.map(|check| {
                let mut value = serde_json::to_value(check).unwrap_or_default();
                if let Value::Object(map) = &mut value {
                    map.remove("group");
                    map.remove("name");
                }
                (check.name.clone(), value)
            });
            Value::Object(named.collect::<Map<_, _>>())
        };
        json!({
            "version": self.version,
            "system": self.system,
            "kernel": self.kernel,
            "cpus": self.cpus,
            "sandbox": { "tier": self.tier, "notes": self.notes },
            "isolation": of_group(CheckGroup::Isolation),
            "limits": of_group(CheckGroup::Limits),
            "languages": of_group(CheckGroup::Languages),
            "tools": of_group(CheckGroup::Tools),
            "configuration": of_group(CheckGroup::Configuration),
        })
    }
}
