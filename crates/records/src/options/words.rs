//! One spelling for flags, texts and records.

/// Prints an option that is a choice of words by the word that its flag takes.
macro_rules! words {
    ($($choice:ty),+ $(,)?) => {$(
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let word = clap::ValueEnum::to_possible_value(self);
                f.pad(word.as_ref().map_or("", clap::builder::PossibleValue::get_name))
            }
        }
    )+};
}

/// Keeps an option in records as the text that its flag takes.
macro_rules! as_text {
    ($($option:ty),+ $(,)?) => {$(
        impl serde::Serialize for $option {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $option {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

pub(crate) use {as_text, words};
