//! Messages and results: a text, or parts with references to images and audio.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text, or parts (since ATIF 1.6).
#[derive(Debug, Clone, PartialEq)]
pub enum MessageContent {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ContentPart {
    Text {
        text: String,
    },
    Image {
        source: MediaSource,
    },
    /// Since ATIF 1.8.
    Audio {
        source: MediaSource,
    },
}

/// Where an image or audio file is; the bytes are not in the trajectory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MediaSource {
    /// `image/png`, `audio/wav` and the like.
    pub media_type: String,
    /// A path or an address.
    pub path: String,
    /// Of audio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_sec: Option<f64>,
}

impl Default for MessageContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for MessageContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl MessageContent {
    /// As text: parts on lines of their own, media as `[image: PATH]` and `[audio: PATH]`.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => {
                let lines: Vec<_> = parts.iter().map(ContentPart::text).collect();
                Cow::Owned(lines.join("\n"))
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.is_empty(),
        }
    }
}

impl ContentPart {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text { text } => Cow::Borrowed(text),
            Self::Image { source } => Cow::Owned(format!("[image: {}]", source.path)),
            Self::Audio { source } => Cow::Owned(format!("[audio: {}]", source.path)),
        }
    }
}

impl Serialize for MessageContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
}

/// By hand, so that errors keep the path of the part: `untagged` reports only that nothing matched.
impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = MessageContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(MessageContent::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(MessageContent::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element()? {
            parts.push(part);
        }
        Ok(MessageContent::Parts(parts))
    }
}

/// By way of a flat object: `tag` buffers, and a number that keeps its digits does not survive that.
impl<'de> Deserialize<'de> for ContentPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let flat = FlatPart::deserialize(deserializer)?;
        match (flat.kind, flat.text, flat.source) {
            (PartKind::Text, Some(text), None) => Ok(Self::Text { text }),
            (PartKind::Image, None, Some(source)) => Ok(Self::Image { source }),
            (PartKind::Audio, None, Some(source)) => Ok(Self::Audio { source }),
            (PartKind::Text, ..) => Err(D::Error::custom(
                "a text part requires `text` and allows no `source`",
            )),
            (PartKind::Image | PartKind::Audio, ..) => Err(D::Error::custom(
                "an image or audio part requires `source` and allows no `text`",
            )),
        }
    }
}

#[derive(Deserialize)]
struct FlatPart {
    #[serde(rename = "type")]
    kind: PartKind,
    text: Option<String>,
    source: Option<MediaSource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PartKind {
    Text,
    Image,
    Audio,
}
