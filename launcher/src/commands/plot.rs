//! [I/O] `benchwright plot`: writes the figures of a report as files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use charts::{Figure, Size, Style, csv, png, svg};
use clap::{Args, ValueEnum};
use crds::ExitCode;
use document::ReportDocument;
use files::write_whole;
use launcher::console;
use page::panels::{self, Panel};
use report::report_file;

/// The folder for plots in a results folder.
pub(super) const FOLDER: &str = "plots";
/// Pixels per unit of a drawing. The pictures are then sharp in print and on high-density screens.
const SCALE: f64 = 2.0;

#[derive(Args)]
#[command(after_help = "Examples:
  benchwright plot results/latest
  benchwright plot results/latest --format svg,csv")]
pub(crate) struct PlotArgs {
    /// The results folder of a run, or its report.json
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Write into this folder, and not into `plots` beside report.json
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// The formats to write; may be given several times
    #[arg(long, value_name = "FORMAT", value_enum, value_delimiter = ',', default_values_t = Format::PICTURES)]
    format: Vec<Format>,
}

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Svg,
    Png,
    /// The values that the figure shows
    Csv,
}

impl Format {
    /// The formats that people look at.
    pub(super) const PICTURES: [Format; 2] = [Format::Svg, Format::Png];

    fn name(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
            Format::Csv => "csv",
        }
    }
}

/// Runs the command, and returns its exit code.
pub(crate) fn run(args: &PlotArgs) -> u8 {
    let (file, document) = match report_file::read(&args.run) {
        Ok(read) => read,
        Err(error) => {
            console::say(error);
            return ExitCode::Configuration.code();
        }
    };
    let folder = args.output.clone().unwrap_or_else(|| file.with_file_name(FOLDER));
    let (exit, error) = match write(&document, &folder, &args.format) {
        Err(error) => (ExitCode::Storage, error.to_string()),
        Ok(told) => match console::print(told) {
            Ok(()) => return ExitCode::Done.code(),
            Err(error) => (ExitCode::Configuration, error.to_string()),
        },
    };
    console::say(format!("benchwright: {error}"));
    exit.code()
}

/// Writes each figure in each format. Returns a text that lists the written files, and the panels without a figure.
pub(super) fn write(document: &ReportDocument, folder: &Path, formats: &[Format]) -> io::Result<String> {
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    let mut told = String::new();
    for Panel { title, content, .. } in panels::panels(document) {
        match content {
            Err(reason) => told.push_str(&format!("{title}: no figure. {reason}\n")),
            Ok(figures) => {
                for figure in &figures {
                    let names = formats.iter().map(|it| one(figure, *it, folder)).collect::<io::Result<Vec<_>>>()?;
                    told.push_str(&format!("{title}: {}\n", names.join(", ")));
                }
            }
        }
    }
    told.push_str(&format!("plots: {}\n", folder.display()));
    Ok(told)
}

/// Writes a figure, and returns the name of its file.
fn one(figure: &Figure, format: Format, folder: &Path) -> io::Result<String> {
    let drawing = || svg::draw(figure, Size::default(), Style::Standalone);
    let bytes = match format {
        Format::Svg => drawing().into_bytes(),
        Format::Csv => csv::write(figure).into_bytes(),
        Format::Png => png::render(&drawing(), SCALE).map_err(io::Error::other)?,
    };
    let name = format!("{}.{}", figure.id, format.name());
    let path = folder.join(&name);
    write_whole(&path, |file| file.write_all(&bytes)).map_err(|error| at(&path, &error))?;
    Ok(name)
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("cannot write {}: {error}; choose another folder with --output", path.display()),
    )
}
