//! arrow and parquet: for programs that read columns.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::parquet::arrow::ArrowWriter;

use rl_insight_sql::sink::with_own_texts;

use super::Printer;

/// Writes a stream in Arrow's IPC format.
pub(super) struct Arrow {
    writer: StreamWriter<Vec<u8>>,
    schema: SchemaRef,
}

impl Arrow {
    /// A stream with these columns.
    ///
    /// # Errors
    /// When the format does not know a type.
    pub(super) fn new(schema: &SchemaRef) -> Result<Self, ArrowError> {
        let schema = lenient(schema);
        Ok(Self { writer: StreamWriter::try_new(Vec::new(), &schema)?, schema })
    }
}

impl Printer for Arrow {
    fn begin(&mut self, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let columns = with_own_texts(batch)?.columns().to_vec();
        self.writer.write(&RecordBatch::try_new(SchemaRef::clone(&self.schema), columns)?)?;
        out.append(self.writer.get_mut());
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        self.writer.finish()?;
        out.append(self.writer.get_mut());
        Ok(())
    }
}

/// Writes a Parquet file.
pub(super) struct Parquet {
    writer: ArrowWriter<Vec<u8>>,
    schema: SchemaRef,
}

impl Parquet {
    /// A file with these columns.
    ///
    /// # Errors
    /// When the format does not know a type.
    pub(super) fn new(schema: &SchemaRef) -> Result<Self, ArrowError> {
        let schema = lenient(schema);
        Ok(Self { writer: ArrowWriter::try_new(Vec::new(), SchemaRef::clone(&schema), None)?, schema })
    }
}

impl Printer for Parquet {
    fn begin(&mut self, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        self.writer
            .write(&RecordBatch::try_new(SchemaRef::clone(&self.schema), batch.columns().to_vec())?)?;
        // The writer counts what it has written by itself.
        out.append(self.writer.inner_mut());
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        self.writer.finish()?;
        out.append(self.writer.inner_mut());
        Ok(())
    }
}

/// The plan's schema may be stricter about nulls than a batch.
fn lenient(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    SchemaRef::new(Schema::new(fields))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::StringViewArray;

    use super::*;

    /// The batches of a result share their texts; a stream has each of them once.
    #[test]
    fn a_stream_is_as_large_as_its_rows() {
        let texts: StringViewArray = (0..1000).map(|n| Some(format!("{n:0>100}"))).collect();
        let whole = RecordBatch::try_from_iter([("text", Arc::new(texts) as _)]).unwrap();
        let mut printer = Arrow::new(&whole.schema()).unwrap();
        let mut out = vec![];
        for at in (0..1000).step_by(50) {
            printer.rows(&whole.slice(at, 50), &mut out).unwrap();
        }
        assert!((100_000..150_000).contains(&out.len()), "{}", out.len());
    }
}
