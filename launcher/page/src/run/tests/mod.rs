mod page;
mod size;
mod summary;
