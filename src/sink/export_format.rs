//! An export as DataFusion finds it: a file format that can only be written.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics, not_impl_err, plan_err};
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSinkConfig, FileSource};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;

use super::Export;
use super::export::ExportRequest;
use super::export_sink::ExportSink;

/// Makes the file format of an export; `STORED AS` finds it by the name of the export.
#[derive(Debug)]
pub struct ExportFormatFactory {
    export: Arc<dyn Export>,
}

impl ExportFormatFactory {
    /// A factory for this export.
    pub fn new(export: Arc<dyn Export>) -> Self {
        Self { export }
    }
}

impl GetExt for ExportFormatFactory {
    fn get_ext(&self) -> String {
        self.export.name().to_ascii_lowercase()
    }
}

impl FileFormatFactory for ExportFormatFactory {
    fn create(&self, _: &dyn Session, options: &HashMap<String, String>) -> Result<Arc<dyn FileFormat>> {
        let name = self.export.name();
        let known = self.export.options();
        // Option names without a dot arrive with the prefix that file formats use.
        let plain = |key: &str| key.strip_prefix("format.").unwrap_or(key).to_owned();
        let mut options: Vec<(String, String)> =
            options.iter().map(|(key, value)| (plain(key), value.clone())).collect();
        options.sort();
        for (key, value) in &options {
            let Some(option) = known.iter().find(|o| o.name == key) else {
                let names: Vec<&str> = known.iter().map(|o| o.name).collect();
                return plan_err!("{name}: unknown option {key}, expected one of: {}", names.join(", "));
            };
            if !option.values.is_empty() && !option.values.contains(&value.as_str()) {
                let values = option.values.join(", ");
                return plan_err!("{name}: option {key} is '{value}', expected one of: {values}");
            }
        }
        Ok(Arc::new(ExportFormat { export: Arc::clone(&self.export), options }))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(ExportFormat { export: Arc::clone(&self.export), options: vec![] })
    }
}

/// An export with its options.
#[derive(Debug)]
struct ExportFormat {
    export: Arc<dyn Export>,
    options: Vec<(String, String)>,
}

impl ExportFormat {
    /// The local file that is to be written. Taken as it was written in the statement: DataFusion
    /// takes brackets and stars in it for a pattern.
    fn target(&self, config: &FileSinkConfig) -> Result<PathBuf> {
        let name = self.export.name();
        let url = &config.original_url;
        let path = url.strip_prefix("file://").unwrap_or(url);
        if path.contains("://") {
            return plan_err!("{name}: '{url}' is not a local file; a database can only be written to one");
        }
        if path.is_empty() || path.ends_with(std::path::is_separator) {
            return plan_err!("{name}: '{url}' names a directory, expected the file to write");
        }
        Ok(PathBuf::from(path))
    }
}

#[async_trait]
impl FileFormat for ExportFormat {
    fn get_ext(&self) -> String {
        self.export.name().to_ascii_lowercase()
    }

    fn get_ext_with_compression(&self, _: &FileCompressionType) -> Result<String> {
        Ok(self.get_ext())
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        _: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        not_impl_err!("{} can be written, not read", self.export.name())
    }

    async fn infer_stats(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        _: &ObjectMeta,
    ) -> Result<Statistics> {
        Ok(Statistics::new_unknown(&schema))
    }

    async fn create_physical_plan(
        &self,
        _: &dyn Session,
        _: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        not_impl_err!("{} can be written, not read", self.export.name())
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        _: &dyn Session,
        config: FileSinkConfig,
        order: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let name = self.export.name();
        if !config.table_partition_cols.is_empty() {
            return plan_err!("{name}: PARTITIONED BY does not apply, it is one file; leave it out");
        }
        let request = ExportRequest { target: self.target(&config)?, options: self.options.clone(), order };
        let plan = self.export.plan(input, request)?;
        let sink = ExportSink::new(name, plan.input.schema(), plan.open);
        Ok(Arc::new(DataSinkExec::new(plan.input, Arc::new(sink), plan.order)))
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        // Never asked for: infer_schema and create_physical_plan refuse before.
        CsvFormat::default().file_source(schema)
    }
}
