mod managed_server;
mod page;
mod size;
mod summary;
