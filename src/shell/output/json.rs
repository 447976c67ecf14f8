//! json and ndjson: objects with every column in every row.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

use clap::ValueEnum;
use datafusion::arrow::array::{Array, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch};
use datafusion::arrow::datatypes::{
    DataType, FieldRef, Float16Type, Float32Type, Float64Type, Int64Type, Schema, SchemaRef, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::writer::{
    Encoder, EncoderFactory, EncoderOptions, JsonArray, JsonFormat, LineDelimited, NullableEncoder, Writer,
    WriterBuilder, make_encoder,
};

use super::Printer;

/// How JSON writes what some readers cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct JsonStyle {
    /// NaN and infinities.
    pub(crate) nonfinite: Nonfinite,
    /// 64-bit integers that a double cannot hold.
    pub(crate) integers: BigIntegers,
}

/// What NaN and infinities are in JSON, which has no words for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Nonfinite {
    /// "NaN", "Infinity" and "-Infinity": they can be told from values that are missing
    #[default]
    String,
    /// null, for readers that want nothing but numbers in a column of numbers
    Null,
}

/// What integers beyond 2^53 are in JSON. Readers that know only doubles round them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum BigIntegers {
    /// Numbers, all digits written
    #[default]
    Number,
    /// Strings
    String,
}

/// Prints objects, in the frame that `F` puts around them.
pub(super) struct Json<F: JsonFormat> {
    schema: SchemaRef,
    writer: Writer<Vec<u8>, F>,
    after: &'static [u8],
}

impl Json<JsonArray> {
    /// One array on one line.
    pub(super) fn array(schema: &SchemaRef, style: JsonStyle) -> Self {
        Self::new(schema, style, b"\n")
    }
}

impl Json<LineDelimited> {
    /// One object per line.
    pub(super) fn lines(schema: &SchemaRef, style: JsonStyle) -> Self {
        Self::new(schema, style, b"")
    }
}

impl<F: JsonFormat> Json<F> {
    fn new(schema: &SchemaRef, style: JsonStyle, after: &'static [u8]) -> Self {
        let encoders = Arc::new(Encoders { style });
        let builder = WriterBuilder::new().with_explicit_nulls(true).with_encoder_factory(encoders);
        Self { schema: distinct(schema), writer: builder.build(Vec::new()), after }
    }

    /// Hands over what the writer has put into its own buffer.
    fn hand_over(&mut self, out: &mut Vec<u8>) {
        out.append(self.writer.get_mut());
    }
}

impl<F: JsonFormat + Send> Printer for Json<F> {
    fn begin(&mut self, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        // The plan's schema may be stricter about nulls than a batch; only the names matter here.
        let fields = batch.schema_ref().fields().iter().zip(self.schema.fields());
        let fields: Vec<FieldRef> = fields
            .map(|(own, named)| Arc::new(own.as_ref().clone().with_name(named.name()).with_nullable(true)))
            .collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), batch.columns().to_vec())?;
        self.writer.write(&batch)?;
        self.hand_over(out);
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        self.writer.finish()?;
        self.hand_over(out);
        out.extend_from_slice(self.after);
        Ok(())
    }

    /// The bracket of an array stays open: a program that reads it sees that something is missing.
    fn broken_off(&self) -> &'static [u8] {
        self.after
    }
}

/// Rows as objects for programs in this program.
pub(crate) struct JsonRows {
    names: Vec<String>,
    printer: Json<LineDelimited>,
}

impl JsonRows {
    /// Rows with these columns.
    pub(crate) fn new(schema: &SchemaRef, style: JsonStyle) -> Self {
        let printer = Json::lines(schema, style);
        let names = printer.schema.fields().iter().map(|f| f.name().clone()).collect();
        Self { names, printer }
    }

    /// The names of the members, each of its own.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// One object per row and line.
    ///
    /// # Errors
    /// When a value has no JSON form.
    pub(crate) fn lines(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let mut out = Vec::new();
        self.printer.rows(batch, &mut out)?;
        Ok(out)
    }
}

/// The schema with a name of its own for every column. Of two members with one name a JSON reader
/// keeps the last, so `SELECT a.id, b.id` would lose one without a word.
fn distinct(schema: &SchemaRef) -> SchemaRef {
    let mut taken: HashSet<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    let mut seen = HashSet::new();
    let mut name = |old: &String| {
        if seen.insert(old.clone()) {
            return old.clone();
        }
        let mut number = 2_usize;
        loop {
            let new = format!("{old}_{number}");
            if taken.insert(new.clone()) {
                return new;
            }
            number += 1;
        }
    };
    let fields = schema.fields().iter().map(|f| Arc::new(f.as_ref().clone().with_name(name(f.name()))));
    Arc::new(Schema::new(fields.collect::<Vec<FieldRef>>()))
}

/// Replaces what arrow's writer does not do as we want it: it writes large floating-point numbers
/// in exponent form, and a null that stands in the values of a dictionary as an empty string.
#[derive(Debug)]
struct Encoders {
    style: JsonStyle,
}

impl EncoderFactory for Encoders {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Float64 => self.values(array.as_primitive::<Float64Type>(), |v, style, out| {
                number(v, format_args!("{v:?}"), style, out);
            }),
            DataType::Float32 => self.values(array.as_primitive::<Float32Type>(), |v, style, out| {
                number(v.into(), format_args!("{v:?}"), style, out);
            }),
            DataType::Float16 => self.values(array.as_primitive::<Float16Type>(), |v, style, out| {
                number(v.into(), format_args!("{:?}", v.to_f32()), style, out);
            }),
            DataType::Int64 if self.style.integers == BigIntegers::String => {
                self.values(array.as_primitive::<Int64Type>(), |v, _, out| integer(v, v.unsigned_abs(), out))
            }
            DataType::UInt64 if self.style.integers == BigIntegers::String => {
                self.values(array.as_primitive::<UInt64Type>(), |v, _, out| integer(v, v, out))
            }
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                let values = dictionary.values();
                if values.logical_null_count() == 0 {
                    return Ok(None);
                }
                let values = make_encoder(field, values.as_ref(), options)?;
                Box::new(Dictionary { keys: dictionary.normalized_keys(), values })
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.logical_nulls())))
    }
}

impl Encoders {
    fn values<'a, T: ArrowPrimitiveType>(
        &self,
        array: &'a PrimitiveArray<T>,
        write: fn(T::Native, JsonStyle, &mut Vec<u8>),
    ) -> Box<dyn Encoder + 'a> {
        Box::new(Values { array, style: self.style, write })
    }
}

struct Values<'a, T: ArrowPrimitiveType> {
    array: &'a PrimitiveArray<T>,
    style: JsonStyle,
    write: fn(T::Native, JsonStyle, &mut Vec<u8>),
}

impl<T: ArrowPrimitiveType> Encoder for Values<'_, T> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        (self.write)(self.array.value(row), self.style, out);
    }
}

/// A floating-point number. Those for which JSON has no words are strings by default, because null would
/// make them look like values that are missing.
fn number(value: f64, text: std::fmt::Arguments<'_>, style: JsonStyle, out: &mut Vec<u8>) {
    if value.is_finite() {
        // Writing to memory does not fail.
        let _ = out.write_fmt(text);
        return;
    }
    out.extend_from_slice(match (style.nonfinite, value) {
        (Nonfinite::Null, _) => b"null".as_slice(),
        (_, v) if v.is_nan() => b"\"NaN\"",
        (_, v) if v > 0.0 => b"\"Infinity\"",
        _ => b"\"-Infinity\"",
    });
}

/// An integer, in quotes when a double cannot hold it and everything near it.
fn integer(value: impl std::fmt::Display, size: u64, out: &mut Vec<u8>) {
    let quote = if size > 1 << 53 { "\"" } else { "" };
    let _ = write!(out, "{quote}{value}{quote}");
}

struct Dictionary<'a> {
    keys: Vec<usize>,
    values: NullableEncoder<'a>,
}

impl Encoder for Dictionary<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        // Only called for rows that are not null, and those have a key.
        if let Some(key) = self.keys.get(row) {
            self.values.encode(*key, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Float32Array, Float64Array, Int64Array};

    use super::super::testing::{batch, print};
    use super::*;

    #[test]
    fn an_array_is_one_line_with_every_column_in_every_row() {
        let text = print(Json::array(&batch().schema(), JsonStyle::default()), &batch());
        let expected = concat!(
            r#"[{"id":9223372036854775807,"ms":1779785515000.12,"#,
            r#""stack":"a.py(1): <module>;\r\nb.py(2): f","kind":"x|y\t\"z\\"},"#,
            r#"{"id":null,"ms":null,"stack":null,"kind":null},{"id":-1,"ms":"NaN","stack":"","kind":null}]"#,
            "\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn results_without_rows_are_valid_json() {
        let empty = batch().slice(0, 0);
        assert_eq!(print(Json::array(&empty.schema(), JsonStyle::default()), &empty), "[]\n");
        assert_eq!(print(Json::lines(&empty.schema(), JsonStyle::default()), &empty), "");
    }

    #[test]
    fn numbers_read_back_as_the_same_numbers() {
        let values = vec![0.1 + 0.2, 1e300, 5e-324, -0.0, 123_456_789_012_345_680.0, 1_779_785_515_000.12];
        let column = Arc::new(Float64Array::from(values.clone())) as _;
        let batch = RecordBatch::try_from_iter([("v", column)]).unwrap();
        let text = print(Json::array(&batch.schema(), JsonStyle::default()), &batch);
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        let back: Vec<f64> = parsed.as_array().unwrap().iter().map(|r| r["v"].as_f64().unwrap()).collect();
        assert_eq!(
            back.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            values.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        );
        assert!(text.contains("1779785515000.12"));

        let column = Arc::new(Float32Array::from(vec![0.1, f32::INFINITY])) as _;
        let batch = RecordBatch::try_from_iter([("v", column)]).unwrap();
        assert_eq!(
            print(Json::lines(&batch.schema(), JsonStyle::default()), &batch),
            "{\"v\":0.1}\n{\"v\":\"Infinity\"}\n"
        );
    }

    #[test]
    fn columns_with_one_name_all_survive() {
        let column = |v| Arc::new(Int64Array::from(vec![v])) as _;
        let batch = RecordBatch::try_from_iter([
            ("a", column(1)),
            ("a_2", column(2)),
            ("a", column(3)),
            ("a", column(4)),
        ]);
        let batch = batch.unwrap();
        let text = print(Json::lines(&batch.schema(), JsonStyle::default()), &batch);
        assert_eq!(text, "{\"a\":1,\"a_2\":2,\"a_3\":3,\"a_4\":4}\n");
    }

    #[test]
    fn readers_that_know_only_doubles_can_have_it_their_way() {
        use datafusion::arrow::array::{ListArray, UInt64Array};
        use datafusion::arrow::datatypes::Float64Type;
        let style = JsonStyle { nonfinite: Nonfinite::Null, integers: BigIntegers::String };
        let floats = Float64Array::from(vec![f64::NAN, f64::NEG_INFINITY]);
        let list = |x| Some(vec![Some(x), None]);
        let nested = ListArray::from_iter_primitive::<Float64Type, _, _>([list(f64::INFINITY), list(0.5)]);
        let signed = Int64Array::from(vec![(1_i64 << 53) + 1, -(1_i64 << 53)]);
        let unsigned = UInt64Array::from(vec![u64::MAX, 1]);
        let batch = RecordBatch::try_from_iter([
            ("f", Arc::new(floats) as _),
            ("n", Arc::new(nested) as _),
            ("i", Arc::new(signed) as _),
            ("u", Arc::new(unsigned) as _),
        ]);
        let batch = batch.unwrap();
        let expected = concat!(
            r#"{"f":null,"n":[null,null],"i":"9007199254740993","u":"18446744073709551615"}"#,
            "\n",
            r#"{"f":null,"n":[0.5,null],"i":-9007199254740992,"u":1}"#,
            "\n"
        );
        assert_eq!(print(Json::lines(&batch.schema(), style), &batch), expected);
    }
}
