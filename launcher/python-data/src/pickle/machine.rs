//! Executes the opcodes of a pickle. No opcode calls Python code, and none makes this interpreter recurse.

use std::{cell::Cell as Count, collections::HashMap};

use super::{
    Item, MAX_HEAP, MAX_VISITS, MIN_VISITS, Name, Node, Pickle, Span, is_latin1, names,
    opcodes::{self as op, refused},
};
use crate::{Problem, problem::shown};

/// The newest supported pickle protocol.
const MAX_PROTOCOL: u8 = 5;
/// Maximum number of items on the stack.
const MAX_STACK: usize = 1 << 24;
/// Maximum bytes of a number.
const MAX_NUMBER: usize = 1024;
/// Maximum bytes of a line, in protocol 0.
const MAX_LINE: usize = 64 << 20;

pub(super) fn run(file: &[u8]) -> Result<Pickle<'_>, Problem> {
    if file.is_empty() {
        return Err(Problem::new("is empty"));
    }
    let visits = (file.len() as u64 * MAX_VISITS).max(MIN_VISITS);
    let pickle = Pickle {
        file,
        nodes: Vec::new(),
        tokens: Vec::new(),
        texts: Vec::new(),
        root: Item::None,
        visits: Count::new(visits),
    };
    let memo = Memo::default();
    let mut machine = Machine { pickle, stack: Vec::new(), marks: Vec::new(), memo, at: 0, start: 0, heap: 0 };
    machine.pickle.root = machine.play()?;
    Ok(machine.pickle)
}

struct Machine<'a> {
    pickle: Pickle<'a>,
    stack: Vec<Item>,
    /// The height of the stack at each mark that was set. A mark shows where a sequence of items begins.
    marks: Vec<usize>,
    memo: Memo,
    /// The position of the next byte in the file.
    at: usize,
    /// The position of the current opcode in the file.
    start: usize,
    /// Bytes of memory used for nodes and the memo.
    heap: usize,
}

/// The objects that opcodes refer to by number. Python numbers them in order, so most are in `first`.
#[derive(Default)]
struct Memo {
    first: Vec<Item>,
    others: HashMap<u32, Item>,
}

impl Memo {
    fn get(&self, place: u32) -> Option<Item> {
        self.first.get(place as usize).or_else(|| self.others.get(&place)).copied()
    }

    fn put(&mut self, place: u32, item: Item) {
        if place as usize == self.first.len() {
            self.first.push(item);
        } else if let Some(it) = self.first.get_mut(place as usize) {
            *it = item;
        } else {
            self.others.insert(place, item);
        }
    }

    fn len(&self) -> usize {
        self.first.len() + self.others.len()
    }
}

impl<'a> Machine<'a> {
    fn play(&mut self) -> Result<Item, Problem> {
        loop {
            self.start = self.at;
            let [opcode] = self.array().map_err(|_| self.wrong("ends without STOP; the file is cut"))?;
            match opcode {
                op::STOP => return self.pop(),
                op::PROTO => {
                    let [protocol] = self.array()?;
                    if protocol > MAX_PROTOCOL {
                        return Err(self.wrong(format!("is of protocol {protocol}; 0 to {MAX_PROTOCOL} are read")));
                    }
                }
                op::FRAME => {
                    let length = u64::from_le_bytes(self.array()?);
                    self.enough(length)?;
                }
                op::MARK => {
                    if self.marks.len() >= MAX_STACK {
                        return Err(self.too_large());
                    }
                    self.marks.push(self.stack.len());
                }
                op::POP => match self.pop() {
                    Ok(_) => {}
                    // As in Python, POP removes the last mark if there is no item above that mark.
                    Err(error) => drop(self.marks.pop().ok_or(error)?),
                },
                op::POP_MARK => {
                    let from = self.mark()?;
                    self.stack.truncate(from);
                }
                op::DUP => {
                    let top = self.top()?;
                    self.push(top)?;
                }
                op::NONE => self.push(Item::None)?,
                op::NEWTRUE => self.push(Item::Bool(true))?,
                op::NEWFALSE => self.push(Item::Bool(false))?,
                op::BININT | op::BININT1 | op::BININT2 | op::LONG1 | op::LONG4 | op::INT | op::LONG => {
                    let number = self.number(opcode)?;
                    self.push(number)?;
                }
                op::BINFLOAT => {
                    let number = f64::from_be_bytes(self.array()?);
                    self.push(Item::Float(number))?;
                }
                op::FLOAT => {
                    let line = self.line()?;
                    let number = line.trim().parse().map_err(|_| self.wrong("FLOAT is no number"))?;
                    self.push(Item::Float(number))?;
                }
                op::SHORT_BINUNICODE | op::BINUNICODE | op::BINUNICODE8 => {
                    let span = self.counted(match opcode {
                        op::SHORT_BINUNICODE => 1,
                        op::BINUNICODE => 4,
                        _ => 8,
                    })?;
                    if let Err(error) = std::str::from_utf8(self.pickle.span(span)) {
                        let at = span.start as usize + error.valid_up_to();
                        return Err(Problem::at(at, "is no UTF-8: an unpaired surrogate, or damage"));
                    }
                    self.push(Item::Text(span))?;
                }
                op::SHORT_BINBYTES | op::BINBYTES | op::BINBYTES8 | op::BYTEARRAY8 => {
                    let span = self.counted(match opcode {
                        op::SHORT_BINBYTES => 1,
                        op::BINBYTES => 4,
                        _ => 8,
                    })?;
                    self.push(Item::Bytes(span))?;
                }
                op::SHORT_BINSTRING | op::BINSTRING => {
                    let span = self.counted(if opcode == op::SHORT_BINSTRING { 1 } else { 4 })?;
                    // A Python 2 string is text if it is valid UTF-8, otherwise bytes.
                    let is_text = std::str::from_utf8(self.pickle.span(span)).is_ok();
                    self.push(if is_text { Item::Text(span) } else { Item::Bytes(span) })?;
                }
                op::STRING | op::UNICODE => {
                    let line = self.line_bytes()?;
                    let text = if opcode == op::STRING { quoted(line) } else { escaped(line) };
                    let text = text.ok_or_else(|| self.wrong("a text is not written as Python writes it"))?;
                    let place = self.own_text(text)?;
                    self.push(Item::OwnText(place))?;
                }
                op::EMPTY_LIST => self.make(Node::Tokens(0, 0))?,
                op::EMPTY_DICT => self.make(Node::Dict(Vec::new()))?,
                op::EMPTY_TUPLE => self.tuple(0)?,
                op::EMPTY_SET => self.make(Node::Set)?,
                op::TUPLE1 | op::TUPLE2 | op::TUPLE3 => self.tuple(usize::from(opcode - op::TUPLE1) + 1)?,
                op::TUPLE => {
                    let from = self.mark()?;
                    self.tuple(self.stack.len() - from)?;
                }
                op::LIST => {
                    let from = self.mark()?;
                    let items = self.stack.split_off(from);
                    self.make(Node::Tokens(0, 0))?;
                    self.append(&items)?;
                }
                op::DICT => {
                    let from = self.mark()?;
                    let items = self.stack.split_off(from);
                    self.make(Node::Dict(Vec::new()))?;
                    self.set(&items)?;
                }
                op::FROZENSET => {
                    let from = self.mark()?;
                    self.stack.truncate(from);
                    self.make(Node::Set)?;
                }
                op::APPEND => {
                    let item = self.pop()?;
                    self.append(&[item])?;
                }
                op::APPENDS => {
                    let from = self.mark()?;
                    let items = self.stack.split_off(from);
                    self.append(&items)?;
                }
                op::ADDITEMS => {
                    let from = self.mark()?;
                    self.stack.truncate(from);
                    let top = self.top()?;
                    if !matches!(self.pickle.node(top), Some(Node::Set)) {
                        return Err(self.wrong("ADDITEMS adds to a value that is not a set"));
                    }
                }
                op::SETITEM => {
                    let value = self.pop()?;
                    let key = self.pop()?;
                    self.set(&[key, value])?;
                }
                op::SETITEMS => {
                    let from = self.mark()?;
                    let items = self.stack.split_off(from);
                    self.set(&items)?;
                }
                op::MEMOIZE => {
                    let place = u32::try_from(self.memo.len()).map_err(|_| self.too_large())?;
                    self.remember(place)?;
                }
                op::BINPUT => {
                    let [place] = self.array()?;
                    self.remember(place.into())?;
                }
                op::LONG_BINPUT => {
                    let place = u32::from_le_bytes(self.array()?);
                    self.remember(place)?;
                }
                op::PUT | op::GET => {
                    let line = self.line()?;
                    let place = line.trim().parse().map_err(|_| self.wrong("the place of a memo is not a number"))?;
                    if opcode == op::PUT { self.remember(place)? } else { self.recall(place)? }
                }
                op::BINGET => {
                    let [place] = self.array()?;
                    self.recall(place.into())?;
                }
                op::LONG_BINGET => {
                    let place = u32::from_le_bytes(self.array()?);
                    self.recall(place)?;
                }
                op::GLOBAL => {
                    let module = self.line()?;
                    let name = self.line()?;
                    self.name(module, name)?;
                }
                op::STACK_GLOBAL => {
                    let (name, module) = (self.pop()?, self.pop()?);
                    let text = |it| self.pickle.text(it).map(str::to_owned);
                    let (Some(module), Some(name)) = (text(module), text(name)) else {
                        return Err(self.wrong("STACK_GLOBAL names a value that is not a text"));
                    };
                    self.name(&module, &name)?;
                }
                op::REDUCE | op::NEWOBJ => {
                    let (arguments, callee) = (self.pop()?, self.pop()?);
                    self.call(callee, arguments)?;
                }
                op::BUILD => {
                    let state = self.pop()?;
                    let object = self.top()?;
                    let node = match object {
                        Item::Node(place) => self.pickle.nodes.get_mut(place as usize),
                        _ => None,
                    };
                    let Some(Node::Call(_, _, before)) = node else {
                        return Err(self.wrong("BUILD sets the state of a value that is not an object"));
                    };
                    *before = Some(state);
                }
                _ => {
                    let what = format!(
                        "the opcode {opcode:#04x} ({}) is refused: no table needs it, or this is no pickle",
                        refused(opcode)
                    );
                    return Err(self.wrong(what));
                }
            }
        }
    }

    fn wrong(&self, what: impl Into<String>) -> Problem {
        Problem::at(self.start, what)
    }

    fn too_large(&self) -> Problem {
        self.wrong(format!("needs more than {MAX_HEAP} bytes of memory besides its texts and token ids"))
    }

    /// Refuses a length that reaches beyond the end of the file.
    fn enough(&self, length: u64) -> Result<(), Problem> {
        let left = (self.pickle.file.len() - self.at) as u64;
        if length > left {
            return Err(self.wrong(format!("states a length of {length} bytes, and {left} are left; the file is cut")));
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        let rest = self.pickle.file.get(self.at..).unwrap_or_default();
        let bytes = rest.first_chunk().copied().ok_or_else(|| self.wrong("the file ends within an opcode"))?;
        self.at += N;
        Ok(bytes)
    }

    fn take(&mut self, length: u64) -> Result<Span, Problem> {
        self.enough(length)?;
        let of = |it: u64| u32::try_from(it).map_err(|_| Problem::at(self.start, "is too long"));
        let span = Span { start: of(self.at as u64)?, length: of(length)? };
        self.at += span.length as usize;
        Ok(span)
    }

    /// Reads a length, which takes `bytes` bytes, and then this many bytes.
    fn counted(&mut self, bytes: usize) -> Result<Span, Problem> {
        let length = match bytes {
            1 => u64::from(u8::from_le_bytes(self.array()?)),
            4 => u64::from(u32::from_le_bytes(self.array()?)),
            _ => u64::from_le_bytes(self.array()?),
        };
        self.take(length)
    }

    fn line_bytes(&mut self) -> Result<&'a [u8], Problem> {
        let rest: &'a [u8] = self.pickle.file.get(self.at..).unwrap_or_default();
        let rest = rest.get(..rest.len().min(MAX_LINE)).unwrap_or_default();
        let end = rest.iter().position(|it| *it == b'\n').ok_or_else(|| self.wrong("a line has no end"))?;
        self.at += end + 1;
        Ok(rest.get(..end).unwrap_or_default())
    }

    fn line(&mut self) -> Result<&'a str, Problem> {
        let line = self.line_bytes()?;
        std::str::from_utf8(line).map_err(|_| self.wrong("a line is no UTF-8"))
    }

    fn number(&mut self, opcode: u8) -> Result<Item, Problem> {
        Ok(match opcode {
            op::BININT => Item::Int(i32::from_le_bytes(self.array()?).into()),
            op::BININT1 => Item::Int(u8::from_le_bytes(self.array()?).into()),
            op::BININT2 => Item::Int(u16::from_le_bytes(self.array()?).into()),
            op::LONG1 => {
                let span = self.counted(1)?;
                self.long(span)?
            }
            op::LONG4 => {
                let length = i32::from_le_bytes(self.array()?);
                let length = u64::try_from(length).map_err(|_| self.wrong("a number has a negative length"))?;
                let span = self.take(length)?;
                self.long(span)?
            }
            _ => {
                let line = self.line()?.trim();
                match (opcode, line) {
                    (op::INT, "00") => Item::Bool(false),
                    (op::INT, "01") => Item::Bool(true),
                    _ => self.digits(line.strip_suffix('L').unwrap_or(line))?,
                }
            }
        })
    }

    /// Reads an integer in two's complement.
    fn long(&mut self, span: Span) -> Result<Item, Problem> {
        let bytes = self.pickle.span(span);
        if bytes.len() > MAX_NUMBER {
            return Err(self.wrong(format!("a number has more than {MAX_NUMBER} bytes")));
        }
        if bytes.len() > 8 {
            return self.keep(Node::Big(span));
        }
        let sign = if bytes.last().is_some_and(|it| *it >= 0x80) { 0xff } else { 0 };
        let mut whole = [sign; 8];
        whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(Item::Int(i64::from_le_bytes(whole)))
    }

    fn digits(&mut self, digits: &str) -> Result<Item, Problem> {
        if let Ok(number) = digits.parse() {
            return Ok(Item::Int(number));
        }
        let plain = digits.strip_prefix('-').unwrap_or(digits);
        if plain.is_empty() || plain.len() > MAX_NUMBER || !plain.bytes().all(|it| it.is_ascii_digit()) {
            return Err(self.wrong("a text is not a number"));
        }
        let place = self.own_text(digits.to_owned())?;
        self.keep(Node::Digits(place))
    }

    fn own_text(&mut self, text: String) -> Result<u32, Problem> {
        self.spend(size_of::<String>() + text.len())?;
        self.pickle.texts.push(text);
        u32::try_from(self.pickle.texts.len() - 1).map_err(|_| self.too_large())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Problem> {
        self.heap += bytes;
        if self.heap > MAX_HEAP { Err(self.too_large()) } else { Ok(()) }
    }

    fn push(&mut self, item: Item) -> Result<(), Problem> {
        if self.stack.len() >= MAX_STACK {
            return Err(self.too_large());
        }
        self.stack.push(item);
        Ok(())
    }

    /// The stack height at the last mark. Opcodes must not take items below it.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or_default()
    }

    fn pop(&mut self) -> Result<Item, Problem> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    fn top(&self) -> Result<Item, Problem> {
        let items = self.stack.get(self.floor()..).unwrap_or_default();
        items.last().copied().ok_or_else(|| self.wrong("takes an item of an empty stack"))
    }

    fn mark(&mut self) -> Result<usize, Problem> {
        self.marks.pop().ok_or_else(|| self.wrong("needs a MARK, and there is none"))
    }

    /// Stores a new node, and returns an item that refers to it.
    fn keep(&mut self, node: Node) -> Result<Item, Problem> {
        self.spend(size_of::<Node>())?;
        self.pickle.nodes.push(node);
        u32::try_from(self.pickle.nodes.len() - 1).map(Item::Node).map_err(|_| self.too_large())
    }

    fn make(&mut self, node: Node) -> Result<(), Problem> {
        let item = self.keep(node)?;
        self.push(item)
    }

    /// Makes a tuple of the last `length` items on the stack.
    fn tuple(&mut self, length: usize) -> Result<(), Problem> {
        let from = self.stack.len().checked_sub(length).filter(|it| *it >= self.floor());
        let from = from.ok_or_else(|| self.wrong("takes an item of an empty stack"))?;
        self.spend(length * size_of::<Item>())?;
        let items = self.stack.split_off(from);
        self.make(Node::Tuple(items.into()))
    }

    fn remember(&mut self, place: u32) -> Result<(), Problem> {
        let top = self.top()?;
        self.spend(2 * size_of::<Item>())?;
        self.memo.put(place, top);
        Ok(())
    }

    fn recall(&mut self, place: u32) -> Result<(), Problem> {
        let item =
            self.memo.get(place).ok_or_else(|| self.wrong(format!("uses the memo {place}, which is not set")))?;
        self.push(item)
    }

    /// Appends to the list on top of the stack. A list of token ids can grow in the shared array `tokens` only while it is the last one there.
    fn append(&mut self, items: &[Item]) -> Result<(), Problem> {
        let list = self.top()?;
        let id = |it: &Item| match it {
            Item::Int(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        let place = match list {
            Item::Node(place) => place as usize,
            _ => usize::MAX,
        };
        let Pickle { nodes, tokens, .. } = &mut self.pickle;
        match nodes.get_mut(place) {
            Some(Node::Tokens(start, length)) => {
                let is_last = *length == 0 || *start as usize + *length as usize == tokens.len();
                if is_last && items.iter().all(|it| id(it).is_some()) {
                    let before = tokens.len();
                    tokens.extend(items.iter().filter_map(id));
                    // The casts do not overflow: each id takes at least two bytes in a file of less than 4 GiB.
                    if *length == 0 {
                        *start = before as u32;
                    }
                    *length += items.len() as u32;
                    return Ok(());
                }
                let (start, end) = (*start as usize, *start as usize + *length as usize);
                let before = tokens.get(start..end).unwrap_or_default();
                let before = before.iter().map(|it| Item::Int(i64::from(*it)));
                let all: Vec<Item> = before.chain(items.iter().copied()).collect();
                let bytes = all.len() * size_of::<Item>();
                nodes[place] = Node::List(all);
                self.spend(bytes)
            }
            Some(Node::List(list)) => {
                list.extend_from_slice(items);
                self.spend(size_of_val(items))
            }
            _ => Err(self.wrong("adds an item to a value that is not a list")),
        }
    }

    /// Sets keys of the dict on top of the stack. `items` are keys and values in turn.
    fn set(&mut self, items: &[Item]) -> Result<(), Problem> {
        let dict = self.top()?;
        let (pairs, rest) = items.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.wrong("a key has no value"));
        }
        let node = match dict {
            Item::Node(place) => self.pickle.nodes.get_mut(place as usize),
            _ => None,
        };
        match node {
            Some(Node::Dict(dict)) => dict.extend(pairs.iter().map(|[key, value]| (*key, *value))),
            _ => return Err(self.wrong("sets a key of a value that is not a dict")),
        }
        self.spend(size_of_val(items))
    }

    fn name(&mut self, module: &str, name: &str) -> Result<(), Problem> {
        let Some(found) = names::find(module, name) else {
            return Err(self.wrong(format!(
                "names {}.{}, which is not among the names that a table of pandas or numpy is read with",
                shown(module),
                shown(name)
            )));
        };
        if found == Name::Missing {
            return self.push(Item::Missing);
        }
        self.make(Node::Name(found))
    }

    /// Records a call as a node, without executing it.
    fn call(&mut self, callee: Item, arguments: Item) -> Result<(), Problem> {
        let pickle = &self.pickle;
        let name = match pickle.node(callee) {
            Some(Node::Name(name)) => *name,
            // The callee is itself a call, as in `partial(new_block, ndim=2)(values, placement)`.
            Some(Node::Call(Name::Partial, ..)) => Name::NewBlock,
            _ => return Err(self.wrong("calls a value that is not a function")),
        };
        let (Item::Node(place), Some(items)) = (arguments, pickle.tuple(arguments)) else {
            return Err(self.wrong("calls a function with arguments that are not a tuple"));
        };
        match name {
            Name::Encode => {
                let is_right = |text, codec| pickle.text(text).is_some() && pickle.text(codec).is_some_and(is_latin1);
                if !matches!(items, [text, codec] if is_right(*text, *codec)) {
                    return Err(self.wrong("calls _codecs.encode with another codec than latin1, or with no text"));
                }
            }
            Name::Partial if items.first().and_then(|it| pickle.name(*it)) != Some(Name::NewBlock) => {
                return Err(self.wrong("calls functools.partial around another function than new_block"));
            }
            // An ordered dict is created empty, and gets its items from later opcodes.
            Name::OrderedDict if items.is_empty() => return self.make(Node::Dict(Vec::new())),
            Name::OrderedDict => return Err(self.wrong("makes an OrderedDict of arguments, as Python 2 does")),
            _ => {}
        }
        self.make(Node::Call(name, place, None))
    }
}

/// Parses a string of Python 2 with its quotes.
fn quoted(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii();
    let quote = *line.first().filter(|it| matches!(it, b'\'' | b'"'))?;
    let inner = line.get(1..)?.strip_suffix(&[quote])?;
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'x' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                (high << 4 | low) as u8
            }
            it @ (b'\\' | b'\'' | b'"') => it,
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Parses a text of protocol 0: Latin-1, with all other characters as `\uXXXX` or `\UXXXXXXXX`.
fn escaped(line: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, tail)) = rest.split_first() {
        let digits = match (first, tail.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => {
                text.push(char::from(*first));
                rest = tail;
                continue;
            }
        };
        let number = std::str::from_utf8(tail.get(1..1 + digits)?).ok()?;
        text.push(char::from_u32(u32::from_str_radix(number, 16).ok()?)?);
        rest = tail.get(1 + digits..)?;
    }
    Some(text)
}
