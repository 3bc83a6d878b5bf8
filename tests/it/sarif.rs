//! SARIF against the official schema, which `tests/peers/sarif.sh` brings.

use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use crate::support::{Place, finish};

#[test]
#[ignore = "needs the official schema: run tests/peers/sarif.sh"]
fn sarif_is_valid_against_the_official_schema() {
    let schema = env::var_os("APKIT_SARIF_SCHEMA").expect("APKIT_SARIF_SCHEMA names the schema");
    let schema = fs::read_to_string(schema).expect("the schema");
    let mut schema: Value = serde_json::from_str(&schema).expect("JSON");
    // This pattern of the official schema has an unpaired bracket, which strict
    // engines refuse. No apkit log has these fields.
    for owner in ["run", "toolComponent"] {
        let language = schema
            .pointer_mut(&format!("/definitions/{owner}/properties/language"))
            .and_then(Value::as_object_mut)
            .expect("the field language");
        language.remove("pattern");
    }
    assert_eq!(
        schema["properties"]["version"]["enum"],
        serde_json::json!(["2.1.0"])
    );
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .expect("a valid schema");

    let place = Place::new();
    place.good_package("good");
    place.mixed_package("a b#%é/mixed");
    place.write("rejected/plugin.json", "{");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance-fixtures");
    let elsewhere = place.path().join("a b#%é/mixed");
    let mut results = 0;
    for paths in [
        vec![Path::new("good")],
        vec![
            Path::new("good"),
            Path::new("a b#%é/mixed"),
            Path::new("rejected"),
        ],
        vec![elsewhere.as_path()],
        vec![fixtures.as_path()],
    ] {
        let mut command = place.apkit();
        command.args(["validate", "--recursive", "--format", "sarif"]);
        let run = finish(command.args(&paths));
        assert!(run.status < Some(2), "{paths:?}: {}", run.stderr);
        let log: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let errors: Vec<String> = validator
            .iter_errors(&log)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{paths:?}: {errors:#?}");
        assert!(!run.stdout.contains("\"language\""));
        let found = log["runs"][0]["results"].as_array().expect("results");
        results += found.len();
    }
    assert!(results > 4, "only {results} results were checked");

    // The check can fail.
    let broken = serde_json::json!({"version": "2.1.0", "runs": [{"results": [{}]}]});
    assert!(!validator.is_valid(&broken));
}
