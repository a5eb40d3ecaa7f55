//! The JSON Schema of `trove.toml`, for editors.

use serde_json::Value;

use super::file::ConfigFile;

/// The schema, made from the types that read the file.
pub fn schema() -> Value {
    schemars::schema_for!(ConfigFile).to_value()
}
