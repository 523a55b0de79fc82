//! Reads the pages of a Parquet file, and decompresses each page with a size limit.
//!
//! The library itself would decompress pages without a size limit, and zstd with code that is not Rust. So this module declares to the library
//! that all columns are uncompressed, and passes decompressed pages to it.

use std::{
    fs::File,
    io::{self, Read},
    sync::Arc,
};

use bytes::Bytes;
use parquet::{
    basic::{Compression, Encoding},
    column::page::{Page, PageMetadata, PageReader},
    errors::{ParquetError, Result},
    file::{
        metadata::{ColumnChunkMetaData, RowGroupMetaData},
        reader::RowGroupReader,
        serialized_reader::SerializedPageReader,
    },
};

use super::{
    super::compression::{self, decompressed},
    row_budget::{self, RowBudget},
};

/// Maximum bytes per page; equal to the maximum per row.
const MAX_PAGE: usize = 64 << 20;
/// Maximum bytes in memory for the pages of all columns. For each column, the dictionary and one other page are kept.
const MAX_PAGES: usize = 1 << 30;
/// Maximum number of values per page. Needed because a long run of equal values takes only a few bytes in the file.
const MAX_PAGE_VALUES: u32 = 16 << 20;
/// Maximum number of values per column of a row group, for the same reason.
const MAX_COLUMN_VALUES: u64 = 128 << 20;

/// A row group whose pages this module decompresses.
pub(super) struct RowGroup<'a> {
    file: Arc<File>,
    metadata: &'a RowGroupMetaData,
    /// Maximum bytes of a page.
    most_page: usize,
    /// Maximum bytes of memory for the values of one row in one repeated column.
    most_row: u64,
}

impl<'a> RowGroup<'a> {
    /// `wanted` returns whether a column is read.
    pub(super) fn new(
        file: Arc<File>,
        metadata: &'a RowGroupMetaData,
        wanted: impl Fn(&ColumnChunkMetaData) -> bool,
    ) -> RowGroup<'a> {
        let wanted = || metadata.columns().iter().filter(|it| wanted(it));
        let repeated = wanted().filter(|it| it.column_descr().max_rep_level() > 0).count() as u64;
        RowGroup {
            file,
            metadata,
            most_page: (MAX_PAGES / 2 / wanted().count().max(1)).min(MAX_PAGE),
            most_row: row_budget::MAX_ROW / repeated.max(1),
        }
    }

    /// The reason why a column cannot be read, with the remedy; `None` if it can be read.
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
        let budget = RowBudget::new(chunk.column_descr(), self.most_row);
        Ok(Box::new(Pages { inner, codec, values: 0, most: self.most_page, budget }))
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
    /// Number of values in the pages so far.
    values: u64,
    /// Maximum bytes of a page.
    most: usize,
    /// The memory limit for rows; `None` if the column is not repeated.
    budget: Option<RowBudget>,
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
                if let Some(budget) = &mut self.budget {
                    let levels = levels(&buf).filter(|_| rep_level_encoding == Encoding::RLE);
                    budget.page(&buf, encoding, num_values, levels)?;
                }
                Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, statistics }
            }
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                let buf = plain(buf, 0)?;
                if let Some(budget) = &mut self.budget {
                    budget.dictionary(&buf);
                }
                Page::DictionaryPage { buf, num_values, encoding, is_sorted }
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
                let buf = if is_compressed { plain(buf, levels)? } else { self.whole(buf)? };
                if let Some(budget) = &mut self.budget {
                    budget.page(&buf, encoding, num_values, buf.get(..rep_levels_byte_len as usize))?;
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
    /// Returns a decompressed page. The levels at its start are never compressed.
    fn plain(&self, page: &Bytes, levels: usize) -> Result<Bytes> {
        if self.codec == Compression::UNCOMPRESSED {
            return self.whole(page.clone());
        }
        let (levels, compressed) = page.split_at_checked(levels).ok_or_else(|| external(WRONG))?;
        let mut plain = levels.to_vec();
        // A page that contains only nulls has no values.
        if !compressed.is_empty() {
            decompress(self.codec, compressed, &mut plain, self.most)?;
        }
        Ok(plain.into())
    }

    /// Checks the size of a page that is not compressed.
    fn whole(&self, page: Bytes) -> Result<Bytes> {
        within(page.len(), self.most).map(|_| page)
    }
}

/// The repetition levels of a version 1 page. They begin with their own length.
fn levels(page: &[u8]) -> Option<&[u8]> {
    let (length, rest) = page.split_first_chunk()?;
    rest.get(..u32::from_le_bytes(*length) as usize)
}

const WRONG: &str = "a page is damaged";

pub(super) fn external(what: impl Into<String>) -> ParquetError {
    ParquetError::External(io::Error::other(what.into()).into())
}

/// Appends the decompressed content of a page. Fails if it has more than `most` bytes.
fn decompress(codec: Compression, page: &[u8], to: &mut Vec<u8>, most: usize) -> Result<()> {
    match codec {
        Compression::GZIP(_) => read_all(decompressed(page, Some(compression::Compression::Gzip)), to, most),
        Compression::ZSTD(_) => read_all(decompressed(page, Some(compression::Compression::Zstd)), to, most),
        Compression::BROTLI(_) => read_all(brotli_decompressor::Decompressor::new(page, 64 << 10), to, most),
        Compression::SNAPPY => {
            let length = snap::raw::decompress_len(page).map_err(|_| external(WRONG))?;
            let start = to.len();
            to.resize(start + within(length, most)?, 0);
            snap::raw::Decoder::new().decompress(page, &mut to[start..]).map_err(|_| external(WRONG))?;
            Ok(())
        }
        Compression::LZ4_RAW => lz4(page, to, most),
        Compression::UNCOMPRESSED | Compression::LZO | Compression::LZ4 => Err(external(WRONG)),
    }
}

/// An LZ4 block does not contain its decompressed length, so the buffer is doubled until it is large enough.
fn lz4(page: &[u8], to: &mut Vec<u8>, most: usize) -> Result<()> {
    let start = to.len();
    let mut space = page.len().saturating_mul(4).max(1 << 10).min(most);
    loop {
        to.resize(start + space, 0);
        match lz4_flex::block::decompress_into(page, &mut to[start..]) {
            Ok(length) => {
                to.truncate(start + length);
                return Ok(());
            }
            Err(lz4_flex::block::DecompressError::OutputTooSmall { .. }) => {
                within(space + 1, most)?;
                space = (2 * space).min(most);
            }
            Err(_) => return Err(external(WRONG)),
        }
    }
}

fn read_all(from: impl Read, to: &mut Vec<u8>, most: usize) -> Result<()> {
    let read = from.take(most as u64 + 1).read_to_end(to).map_err(|_| external(WRONG))?;
    within(read, most).map(drop)
}

fn within(length: usize, most: usize) -> Result<usize> {
    if length > most {
        return Err(external(format!("a page has more than {most} bytes, the most that is read; write smaller pages")));
    }
    Ok(length)
}
