use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int64Array, LargeStringArray, StringArray,
    StringViewArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Int32Type, Int64Type};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};
use datafusion::scalar::ScalarValue;

use super::*;

const STACK: &str = "torch/_ops.py(9): __call__;\r\nverl/actor.py(4): update;\r\nmain.py(1): <module>";

/// Calls a function as the engine does: argument types coerced, values cast to them.
fn call(name: &str, args: Vec<ColumnarValue>) -> Result<ColumnarValue> {
    let function = all_scalar_functions().into_iter().find(|f| f.name() == name).unwrap();
    let types: Vec<DataType> = args.iter().map(ColumnarValue::data_type).collect();
    let types = function.coerce_types(&types)?;
    let number_rows = args
        .iter()
        .find_map(|arg| match arg {
            ColumnarValue::Array(array) => Some(array.len()),
            ColumnarValue::Scalar(_) => None,
        })
        .unwrap_or(1);
    let args = args.iter().zip(&types).map(|(arg, t)| arg.cast_to(t, None)).collect::<Result<Vec<_>>>()?;
    let answer = function.invoke_with_args(ScalarFunctionArgs {
        args,
        arg_fields: types.iter().map(|t| Arc::new(Field::new("argument", t.clone(), true))).collect(),
        number_rows,
        return_field: Arc::new(Field::new("answer", function.return_type(&types)?, true)),
        config_options: Arc::new(ConfigOptions::default()),
    })?;
    assert_eq!(answer.data_type(), function.return_type(&types)?, "{name}");
    Ok(answer)
}

fn texts(answer: Result<ColumnarValue>) -> Vec<Option<String>> {
    let array = answer.unwrap().into_array(1).unwrap();
    array.as_string_view().iter().map(|text| text.map(str::to_owned)).collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

fn text(text: &str) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::from(text))
}

/// The same four texts in every form that a column can have.
fn columns() -> Vec<ArrayRef> {
    let rows = [Some(STACK), None, Some(""), Some(STACK)];
    vec![
        Arc::new(StringViewArray::from_iter(rows)),
        Arc::new(StringArray::from_iter(rows)),
        Arc::new(LargeStringArray::from_iter(rows)),
        Arc::new(DictionaryArray::<Int32Type>::from_iter(rows)),
    ]
}

#[test]
fn every_form_of_text_gives_the_same_answers() {
    for column in columns() {
        let of = |name: &str| call(name, vec![ColumnarValue::Array(column.clone())]);
        let depths = of("stack_depth").unwrap().into_array(4).unwrap();
        let depths: Vec<Option<i64>> = depths.as_primitive::<Int64Type>().iter().collect();
        assert_eq!(depths, [Some(3), None, Some(0), Some(3)], "{}", column.data_type());
        let last = Some("main.py(1): <module>".to_owned());
        assert_eq!(texts(of("stack_last_frame")), [last.clone(), None, None, last]);
        let user = Some("verl/actor.py(4): update".to_owned());
        assert_eq!(texts(of("stack_user_frame")), [user.clone(), None, None, user.clone()]);
        let folded =
            Some("main.py(1): <module>;verl/actor.py(4): update;torch/_ops.py(9): __call__".to_owned());
        assert_eq!(texts(of("stack_folded")), [folded.clone(), None, Some(String::new()), folded]);
        let chosen = call("stack_frame", vec![ColumnarValue::Array(column.clone()), text("user")]);
        assert_eq!(texts(chosen), [user.clone(), None, None, user]);
    }
}

#[test]
fn constants_give_constants() {
    for (name, args, expected) in [
        ("stack_last_frame", vec![text(STACK)], "main.py(1): <module>"),
        (
            "stack_frame",
            vec![text(STACK), ColumnarValue::Scalar(ScalarValue::from(2_i64))],
            "verl/actor.py(4): update",
        ),
        (
            "stack_frame",
            vec![text(STACK), ColumnarValue::Scalar(ScalarValue::from(-3_i32))],
            "torch/_ops.py(9): __call__",
        ),
        ("stack_frame", vec![text(STACK), text("stack")], STACK),
    ] {
        let answer = call(name, args).unwrap();
        assert!(matches!(answer, ColumnarValue::Scalar(_)), "{name}");
        assert_eq!(texts(Ok(answer)), some(&[expected]));
    }
    assert_eq!(
        texts(call("stack_frame", vec![ColumnarValue::Scalar(ScalarValue::Null), text("top")])),
        [None]
    );
    assert_eq!(
        texts(call("stack_frame", vec![text(STACK), ColumnarValue::Scalar(ScalarValue::Null)])),
        [None]
    );
}

#[test]
fn each_row_can_ask_for_another_frame() {
    let which: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(-1), None, Some(9)]));
    let answer = texts(call("stack_frame", vec![text(STACK), ColumnarValue::Array(which)]));
    let expected = [Some("torch/_ops.py(9): __call__"), Some("main.py(1): <module>"), None, None];
    assert_eq!(answer, expected.map(|text| text.map(str::to_owned)));
}

#[test]
fn a_frame_that_does_not_exist_is_said() {
    for (which, message) in [
        (
            text("bottom"),
            "stack_frame: 'bottom' is no frame, expected a number, 'top', 'leaf', 'user' or 'stack'",
        ),
        (ColumnarValue::Scalar(ScalarValue::from(0_i64)), "stack_frame: there is no frame 0"),
    ] {
        let error = call("stack_frame", vec![text(STACK), which]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn wrong_types_are_planning_errors() {
    let number = || ColumnarValue::Scalar(ScalarValue::from(1.5));
    for (name, args) in [
        ("stack_depth", vec![number()]),
        ("stack_depth", vec![text(STACK), text(STACK)]),
        ("stack_frame", vec![text(STACK)]),
        ("stack_frame", vec![text(STACK), number()]),
        ("must", vec![text("per"), text("message")]),
        ("one_of", vec![text("per")]),
    ] {
        let error = call(name, args).unwrap_err().to_string();
        assert!(error.contains(&format!("{name}: expected")), "{error}");
    }
}

#[test]
fn must_tells_the_message_of_the_first_row_that_does_not_hold() {
    let of = |conditions: Vec<Option<bool>>, messages: Vec<&str>| {
        let conditions: ArrayRef = Arc::new(BooleanArray::from(conditions));
        let messages: ArrayRef = Arc::new(StringViewArray::from(messages));
        call("must", vec![ColumnarValue::Array(conditions), ColumnarValue::Array(messages)])
    };
    let holds = of(vec![Some(true), Some(true)], vec!["a", "b"]).unwrap().into_array(2).unwrap();
    assert_eq!(holds.as_boolean(), &BooleanArray::from(vec![true, true]));
    for missing in [Some(false), None] {
        let error = of(vec![Some(true), missing], vec!["a", "b"]).unwrap_err().to_string();
        assert!(error.ends_with(": b"), "{error}");
    }
}

#[test]
fn one_of_lists_the_choices() {
    let of = |value: &str| call("one_of", vec![text("per"), text(value), text("stack"), text("rank")]);
    assert_eq!(texts(of("rank")), some(&["rank"]));
    let error = of("Rank").unwrap_err().to_string();
    assert!(error.contains("per: expected one of 'stack', 'rank', got 'Rank'"), "{error}");
}

#[test]
fn every_function_is_documented_and_in_order() {
    let functions = all_scalar_functions();
    assert!(functions.is_sorted_by_key(|f| f.name().to_owned()));
    for function in functions {
        let documentation = function.documentation().unwrap();
        assert!(documentation.syntax_example.starts_with(function.name()), "{}", function.name());
        assert!(!documentation.description.is_empty());
    }
}

#[test]
fn a_slice_of_a_column_is_read_from_its_own_rows() {
    let column: ArrayRef =
        Arc::new(StringViewArray::from_iter_values(["a.py(1): f", STACK, "b.py(2): g", STACK]));
    let answer = call("stack_last_frame", vec![ColumnarValue::Array(column.slice(1, 2))]);
    assert_eq!(texts(answer), some(&["main.py(1): <module>", "b.py(2): g"]));
}
