//! The modules in the source of a library or a program, and which file uses which other files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, mem,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Item, ItemMod, Macro, UseTree, Visibility,
    parse::Parser as _,
    punctuated::Punctuated,
    visit::{self, Visit},
};

/// The index of a module or a file.
type Index = usize;

/// What a name means in a module.
#[derive(Clone, Debug)]
enum Meaning {
    /// A type or a trait that is defined in the module's file.
    Type,
    /// A function, a constant or a macro that is defined in the module's file. Nothing can follow it in a path.
    Value,
    Module(Index),
    /// A path that is imported or re-exported.
    Alias(Vec<String>),
}

#[derive(Debug, Default)]
struct Module {
    parent: Option<Index>,
    file: Index,
    names: BTreeMap<String, Vec<Meaning>>,
    /// The paths before `::*` in glob imports.
    globs: Vec<Vec<String>>,
    /// The paths that the module's code uses.
    used: BTreeSet<Vec<String>>,
}

/// The modules of a library or a program.
#[derive(Debug, Default)]
pub(super) struct Source {
    modules: Vec<Module>,
    files: Vec<PathBuf>,
}

/// What a path refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// An item that is defined in the file with this index.
    ItemOf(Index),
    Module(Index),
}

impl Source {
    /// Reads the root file of a crate, and the files of its modules.
    pub(super) fn read(root: &Path) -> Source {
        let mut source = Source::default();
        source.add_file(root, None, root.parent().unwrap());
        source
    }

    /// Adds a file. `folder` is where the files of its own modules are.
    fn add_file(&mut self, path: &Path, parent: Option<Index>, folder: &Path) -> Index {
        let text = fs::read_to_string(path).unwrap();
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = self.files.len();
        self.files.push(path.to_owned());
        self.add_module(file, parent, folder, &parsed.items)
    }

    fn add_module(&mut self, file: Index, parent: Option<Index>, folder: &Path, items: &[Item]) -> Index {
        let index = self.modules.len();
        self.modules.push(Module { parent, file, ..Module::default() });
        for item in items {
            self.add_item(index, folder, item);
        }
        index
    }

    fn add_item(&mut self, index: Index, folder: &Path, item: &Item) {
        if is_test(attributes(item)) {
            return;
        }
        if let Item::Mod(module) = item {
            self.add_submodule(index, folder, module);
            return;
        }
        if let Item::Use(it) = item {
            self.modules[index].import(&it.tree, &mut Vec::new());
            return;
        }
        if let Some((name, meaning)) = defined(item) {
            self.modules[index].names.entry(name).or_default().push(meaning);
        }
        self.modules[index].visit_item(item);
    }

    fn add_submodule(&mut self, index: Index, folder: &Path, module: &ItemMod) {
        let name = module.ident.to_string();
        let below = folder.join(&name);
        let named = module.attrs.iter().find_map(path_of);
        let child = match &module.content {
            Some((_, items)) => self.add_module(self.modules[index].file, Some(index), &below, items),
            None => {
                let beside = self.files[self.modules[index].file].parent().unwrap();
                let plain = folder.join(format!("{name}.rs"));
                let path = match named {
                    Some(named) => beside.join(named),
                    None if plain.exists() => plain,
                    None => below.join("mod.rs"),
                };
                self.add_file(&path, Some(index), &below)
            }
        };
        self.modules[index].names.entry(name).or_default().push(Meaning::Module(child));
    }

    /// Finds the items that a path in a module may refer to. Empty if they belong to another crate.
    fn find(&self, from: Index, path: &[String], depth: usize) -> BTreeSet<Found> {
        let [first, rest @ ..] = path else { return BTreeSet::from([Found::Module(from)]) };
        // Limit the depth, because an alias may refer to itself, as in `use time::time`.
        if depth > 16 {
            return BTreeSet::new();
        }
        match first.as_str() {
            "crate" => return self.find(0, rest, depth + 1),
            "self" => return self.find(from, rest, depth + 1),
            "super" => {
                return self.modules[from].parent.map(|it| self.find(it, rest, depth + 1)).unwrap_or_default();
            }
            _ => {}
        }
        let module = &self.modules[from];
        let mut found = BTreeSet::new();
        for meaning in module.names.get(first).into_iter().flatten() {
            match meaning {
                Meaning::Type => _ = found.insert(Found::ItemOf(module.file)),
                Meaning::Value if rest.is_empty() => _ = found.insert(Found::ItemOf(module.file)),
                Meaning::Value => {}
                Meaning::Module(child) => found.extend(self.find(*child, rest, depth + 1)),
                Meaning::Alias(alias) if alias.first() == Some(first) && !self.is_own(from, alias) => {}
                Meaning::Alias(alias) => {
                    found.extend(self.find(from, &[alias.as_slice(), rest].concat(), depth + 1));
                }
            }
        }
        if found.is_empty() {
            for glob in &module.globs {
                for place in self.find(from, glob, depth + 1) {
                    if let Found::Module(place) = place
                        && place != from
                    {
                        found.extend(self.find(place, path, depth + 1));
                    }
                }
            }
        }
        found
    }

    /// Whether the first name of an alias is a module of this crate, if the alias has the same name, as in `use time::time`.
    fn is_own(&self, from: Index, alias: &[String]) -> bool {
        let meanings = self.modules[from].names.get(&alias[0]);
        meanings.into_iter().flatten().any(|it| !matches!(it, Meaning::Alias(_)))
    }

    /// Returns which files each file uses.
    fn uses(&self) -> BTreeMap<Index, BTreeSet<Index>> {
        let mut uses: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (index, module) in self.modules.iter().enumerate() {
            let aliases = module.names.values().flatten().filter_map(|it| match it {
                Meaning::Alias(path) => Some(path),
                _ => None,
            });
            for path in aliases.chain(&module.used) {
                for found in self.find(index, path, 0) {
                    if let Found::ItemOf(file) = found
                        && file != module.file
                    {
                        uses.entry(module.file).or_default().insert(file);
                    }
                }
            }
        }
        uses
    }

    /// Returns the paths of each set of more than `most` files that use each other, directly or through other files.
    pub(super) fn circles(&self, most: usize) -> Vec<Vec<String>> {
        let uses = self.uses();
        let reached = |from: Index| {
            let (mut all, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(file) = next.pop() {
                next.extend(uses.get(&file).into_iter().flatten().filter(|it| all.insert(**it)));
            }
            all
        };
        let all: Vec<_> = (0..self.files.len()).map(reached).collect();
        let mut circles = BTreeSet::new();
        for file in 0..self.files.len() {
            let circle: Vec<_> = all[file].iter().copied().filter(|it| all[*it].contains(&file)).collect();
            if circle.len() > most {
                circles.insert(circle);
            }
        }
        let path = |it: &Index| self.files[*it].display().to_string();
        circles.iter().map(|circle| circle.iter().map(path).collect()).collect()
    }
}

impl Module {
    fn import(&mut self, tree: &UseTree, path: &mut Vec<String>) {
        match tree {
            UseTree::Path(it) => {
                path.push(name(&it.ident));
                self.import(&it.tree, path);
                path.pop();
            }
            UseTree::Name(it) if it.ident == "self" => {
                let last = path.last().cloned().unwrap_or_default();
                self.names.entry(last).or_default().push(Meaning::Alias(path.clone()));
            }
            UseTree::Name(it) => self.alias(name(&it.ident), name(&it.ident), path),
            UseTree::Rename(it) => self.alias(name(&it.rename), name(&it.ident), path),
            UseTree::Glob(_) => {
                // The path itself may be an enum, whose variants are imported.
                self.used.insert(path.clone());
                self.globs.push(path.clone());
            }
            UseTree::Group(it) => it.items.iter().for_each(|it| self.import(it, path)),
        }
    }

    fn alias(&mut self, alias: String, last: String, path: &[String]) {
        let whole = [path, &[last]].concat();
        self.names.entry(alias).or_default().push(Meaning::Alias(whole));
    }

    /// Collects the paths in unparsed tokens, such as the tokens of macros.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Vec::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Ident(it) if path.is_empty() || colons == 2 => {
                    path.push(name(&it));
                    colons = 0;
                }
                TokenTree::Ident(it) => {
                    self.end(&mut path);
                    path.push(name(&it));
                    colons = 0;
                }
                TokenTree::Punct(it) if it.as_char() == ':' && !path.is_empty() => colons += 1,
                TokenTree::Group(it) => {
                    self.end(&mut path);
                    self.tokens(it.stream());
                }
                TokenTree::Literal(it) => {
                    self.end(&mut path);
                    let text = it.to_string();
                    if let Some(path) = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'))
                        && path.chars().all(|it| it.is_alphanumeric() || "_:".contains(it))
                    {
                        self.used.insert(path.split("::").map(str::to_owned).collect());
                    }
                }
                TokenTree::Punct(_) => self.end(&mut path),
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        let path = mem::take(path);
        if !path.is_empty() {
            self.used.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test(attributes(item)) {
            return;
        }
        match item {
            // An import inside a function.
            Item::Use(it) => self.import(&it.tree, &mut Vec::new()),
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.used.insert(path.segments.iter().map(|it| name(&it.ident)).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast Macro) {
        self.visit_path(&it.path);
        self.tokens(it.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }

    // The path in `pub(in path)` is not a use.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn name(ident: &syn::Ident) -> String {
    ident.to_string()
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        it.path().is_ident("test")
            || it.path().is_ident("cfg")
                && it.parse_args::<syn::Meta>().is_ok_and(|it| match it {
                    syn::Meta::Path(it) => it.is_ident("test"),
                    syn::Meta::List(it) if it.path.is_ident("all") => {
                        let all = Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated.parse2(it.tokens);
                        all.is_ok_and(|it| it.iter().any(|it| it.path().is_ident("test")))
                    }
                    _ => false,
                })
    })
}

/// The file name in an attribute `path`.
fn path_of(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        syn::Meta::NameValue(syn::MetaNameValue {
            path,
            value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }),
            ..
        }) if path.is_ident("path") => Some(name.value()),
        _ => None,
    }
}

/// Returns the name that an item has in its module, and what the name means.
fn defined(item: &Item) -> Option<(String, Meaning)> {
    let (ident, meaning) = match item {
        Item::Const(it) => (&it.ident, Meaning::Value),
        Item::Enum(it) => (&it.ident, Meaning::Type),
        Item::Fn(it) => (&it.sig.ident, Meaning::Value),
        Item::Macro(it) => (it.ident.as_ref()?, Meaning::Value),
        Item::Static(it) => (&it.ident, Meaning::Value),
        Item::Struct(it) => (&it.ident, Meaning::Type),
        Item::Trait(it) => (&it.ident, Meaning::Type),
        Item::Type(it) => (&it.ident, Meaning::Type),
        Item::Union(it) => (&it.ident, Meaning::Type),
        _ => return None,
    };
    Some((name(ident), meaning))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}
