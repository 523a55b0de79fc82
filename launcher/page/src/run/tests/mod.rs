mod managed_server;
mod page;
mod sections;
mod size;
mod summary;
