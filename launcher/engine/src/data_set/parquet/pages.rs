//! The pages of a Parquet file: reads them, and decompresses each within bounds.
//!
//! The library would decompress a page without a bound on its size, and zstd with code that is not Rust. So it is told that no column
//! is compressed, and gets pages that already are as they were before their compression.

use std::{
    fs::File,
    io::{self, Read},
    sync::Arc,
};

use bytes::Bytes;
use parquet::{
    basic::Compression,
    column::page::{Page, PageMetadata, PageReader},
    errors::{ParquetError, Result},
    file::{
        metadata::{ColumnChunkMetaData, RowGroupMetaData},
        reader::RowGroupReader,
        serialized_reader::SerializedPageReader,
    },
};

use super::super::compression::{self, decompressed};

/// The most bytes of a page: as many as of a row.
const MAX_PAGE: usize = 64 << 20;
/// The most values of a page, and of a column in a group of rows. A run of equal values takes a few bytes in a file.
const MAX_PAGE_VALUES: u32 = 16 << 20;
const MAX_COLUMN_VALUES: u64 = 128 << 20;

/// A group of rows whose pages are decompressed here.
pub(super) struct RowGroup<'a> {
    file: Arc<File>,
    metadata: &'a RowGroupMetaData,
}

impl<'a> RowGroup<'a> {
    pub(super) fn new(file: Arc<File>, metadata: &'a RowGroupMetaData) -> RowGroup<'a> {
        RowGroup { file, metadata }
    }

    /// Why a column cannot be read, and the remedy.
    pub(super) fn refused(&self, column: usize) -> Option<String> {
        let codec = self.metadata.column(column).compression();
        let is_read = matches!(
            codec,
            Compression::UNCOMPRESSED
                | Compression::SNAPPY
                | Compression::GZIP(_)
                | Compression::ZSTD(_)
                | Compression::BROTLI(_)
                | Compression::LZ4_RAW
        );
        (!is_read).then(|| format!("is compressed with {codec}, which is not read; write it with snappy, gzip or zstd"))
    }
}

impl RowGroupReader for RowGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.metadata
    }

    fn num_columns(&self) -> usize {
        self.metadata.num_columns()
    }

    fn get_column_page_reader(&self, column: usize) -> Result<Box<dyn PageReader>> {
        let chunk = self.metadata.column(column);
        let codec = chunk.compression();
        let plain: ColumnChunkMetaData =
            chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        let rows = usize::try_from(self.metadata.num_rows())?;
        let inner = SerializedPageReader::new(Arc::clone(&self.file), &plain, rows, None)?;
        Ok(Box::new(Pages { inner, codec, values: 0 }))
    }

    fn get_column_bloom_filter(&self, _column: usize) -> Option<&parquet::bloom_filter::Sbbf> {
        None
    }

    fn get_row_iter(
        &self,
        projection: Option<parquet::schema::types::Type>,
    ) -> Result<parquet::record::reader::RowIter<'_>> {
        parquet::record::reader::RowIter::from_row_group(projection, self)
    }
}

/// The pages of a column.
struct Pages {
    inner: SerializedPageReader<File>,
    codec: Compression,
    /// Values in the pages so far.
    values: u64,
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(page) = self.inner.get_next_page()? else { return Ok(None) };
        let values = page.num_values();
        self.values += u64::from(values);
        if values > MAX_PAGE_VALUES || self.values > MAX_COLUMN_VALUES {
            return Err(external(format!(
                "a page has {values} values, and its column at least {}; at most {MAX_PAGE_VALUES} and {MAX_COLUMN_VALUES} are read",
                self.values
            )));
        }
        let plain = |buf: Bytes, levels: usize| self.plain(&buf, levels);
        Ok(Some(match page {
            Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics } => {
                let buf = plain(buf, 0)?;
                Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics }
            }
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                Page::DictionaryPage { buf: plain(buf, 0)?, num_values, encoding, is_sorted }
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                statistics,
            } => {
                let levels = (def_levels_byte_len as usize).saturating_add(rep_levels_byte_len as usize);
                let buf = if is_compressed { plain(buf, levels)? } else { buf };
                Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    num_nulls,
                    num_rows,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed,
                    statistics,
                }
            }
        }))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }
}

impl Pages {
    /// A page as it was before its compression. Its first bytes, the levels, are not compressed.
    fn plain(&self, page: &Bytes, levels: usize) -> Result<Bytes> {
        if self.codec == Compression::UNCOMPRESSED {
            return Ok(page.clone());
        }
        let (levels, compressed) = page.split_at_checked(levels).ok_or_else(|| external(WRONG))?;
        let mut plain = levels.to_vec();
        // A page of nulls has no values.
        if !compressed.is_empty() {
            decompress(self.codec, compressed, &mut plain)?;
        }
        Ok(plain.into())
    }
}

const WRONG: &str = "a page is damaged";

fn external(what: impl Into<String>) -> ParquetError {
    ParquetError::External(io::Error::other(what.into()).into())
}

/// Appends what a page holds.
fn decompress(codec: Compression, page: &[u8], to: &mut Vec<u8>) -> Result<()> {
    match codec {
        Compression::GZIP(_) => read_all(decompressed(page, Some(compression::Compression::Gzip)), to),
        Compression::ZSTD(_) => read_all(decompressed(page, Some(compression::Compression::Zstd)), to),
        Compression::BROTLI(_) => read_all(brotli_decompressor::Decompressor::new(page, 64 << 10), to),
        Compression::SNAPPY => {
            let length = snap::raw::decompress_len(page).map_err(|_| external(WRONG))?;
            let start = to.len();
            to.resize(start + within(length)?, 0);
            snap::raw::Decoder::new().decompress(page, &mut to[start..]).map_err(|_| external(WRONG))?;
            Ok(())
        }
        Compression::LZ4_RAW => lz4(page, to),
        Compression::UNCOMPRESSED | Compression::LZO | Compression::LZ4 => Err(external(WRONG)),
    }
}

/// A block does not hold its length, so that the space for it is doubled until it is enough.
fn lz4(page: &[u8], to: &mut Vec<u8>) -> Result<()> {
    let start = to.len();
    let mut space = page.len().saturating_mul(4).clamp(1 << 10, MAX_PAGE);
    loop {
        to.resize(start + space, 0);
        match lz4_flex::block::decompress_into(page, &mut to[start..]) {
            Ok(length) => {
                to.truncate(start + length);
                return Ok(());
            }
            Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) => {
                within(space + 1)?;
                space = (2 * space).min(MAX_PAGE);
            }
            Err(_) => return Err(external(WRONG)),
        }
    }
}

fn read_all(from: impl Read, to: &mut Vec<u8>) -> Result<()> {
    let read = from.take(MAX_PAGE as u64 + 1).read_to_end(to).map_err(|_| external(WRONG))?;
    within(read).map(drop)
}

fn within(length: usize) -> Result<usize> {
    if length > MAX_PAGE {
        return Err(external(format!(
            "a page has more than {MAX_PAGE} bytes, the most that is read; write smaller pages"
        )));
    }
    Ok(length)
}
