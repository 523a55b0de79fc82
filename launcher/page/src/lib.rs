//! `report.json` as figures. Pure: a document in, values out.

#[cfg(test)]
mod fixture;
pub mod panels;
mod text;
