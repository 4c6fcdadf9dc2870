//! What was built: a tree with places, and the texts that these lie in.

use super::error::{Problem, Result, fail};
use super::position::Texts;
use super::tree;
use crate::ast::spans::Spans;
use crate::ast::{File, Item};
use crate::parser::parse_file;
use crate::source::{FileId, SourceMap, Span};
use std::fmt::Write;
use std::sync::Arc;

/// A file of the language that was built, with one kernel or several: plain data, which any thread may compile.
#[derive(Debug, Clone)]
pub struct Module {
    name: Arc<str>,
    listing: Arc<str>,
    file: Arc<File>,
    texts: Arc<[super::SourceText]>,
    places: Arc<str>,
}

impl PartialEq for Module {
    fn eq(&self, other: &Self) -> bool {
        let texts = |module: &Self| -> Vec<(String, Arc<str>)> {
            let texts = module.texts.iter();
            texts
                .map(|text| (text.name().to_owned(), text.text().clone()))
                .collect()
        };
        self.name == other.name
            && self.listing == other.listing
            && self.places == other.places
            && texts(self) == texts(other)
    }
}

impl Module {
    /// Its name; of a kernel that was built by itself, that of its entry in PTX.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The module as text of the language: what messages, profiles and `.loc` lines refer to where nothing else was said.
    pub fn listing(&self) -> &Arc<str> {
        &self.listing
    }

    /// The syntax tree. Its places are those of the files that [`Module::add_to`] gives a map.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// The texts of the host that it has places in.
    pub fn texts(&self) -> &[super::SourceText] {
        &self.texts
    }

    /// Which nodes come from which parts of the texts of the host, as a text that differs where these differ.
    pub fn places(&self) -> &str {
        &self.places
    }

    /// Adds the listing, under this name, and the texts of the host to an empty map.
    pub fn add_to(&self, sources: &mut SourceMap, name: &str) {
        sources.add(name, self.listing.clone());
        for text in self.texts.iter() {
            sources.add(text.name(), text.text().clone());
        }
    }
}

/// The module of some items.
#[track_caller]
pub(super) fn finished(name: &str, items: Vec<Item>, texts: Texts) -> Result<Module> {
    let Texts(texts) = texts;
    let names = texts.iter().map(|text| text.name());
    for (at, text) in names.clone().enumerate() {
        let is_listing = text.strip_suffix(".cute") == Some(name);
        if is_listing || names.clone().take(at).any(|known| known == text) {
            let name = text.to_owned();
            return Err(fail(Problem::Texts { name }));
        }
    }
    let mut built = File {
        id: FileId(0),
        docs: Vec::new(),
        items,
    };
    // What is printed reads back as the same tree, now with places.
    let listing: Arc<str> = built.to_string().into();
    let (mut sources, mut said) = (SourceMap::new(), Vec::new());
    let id = sources.add(name, listing.clone());
    let mut file = parse_file(&sources, id, &mut said);
    if let Some(diagnostic) = said.first() {
        let said = diagnostic.message.clone();
        return Err(fail(Problem::Syntax { said }));
    }
    let mut given: Vec<Span> = Vec::new();
    Spans(&mut |span| given.push(*span)).file(&mut built);
    let mut read = 0;
    Spans(&mut |_| read += 1).file(&mut file);
    if read != given.len() {
        let said = "what stands for a name is no name".to_owned();
        return Err(fail(Problem::Syntax { said }));
    }
    let places = match texts.is_empty() {
        true => String::new(),
        false => replace(&mut file, &given, &texts),
    };
    Ok(Module {
        name: name.into(),
        listing,
        file: Arc::new(file),
        texts: texts.into(),
        places: places.into(),
    })
}

/// Gives the nodes of a file that was read the places in texts of the host that they were given when it was built.
fn replace(file: &mut File, given: &[Span], texts: &[super::SourceText]) -> String {
    let mut places = String::new();
    let mut given = given.iter();
    Spans(&mut |span| {
        let Some(place) = given
            .next()
            .filter(|place| place.file != tree::NOWHERE.file)
        else {
            places.push(';');
            return;
        };
        let at = texts.iter().position(|text| text.id() == place.file);
        // Each place brings its text along, but those within types.
        if let Some(at) = at {
            let file = FileId(1 + at as u32);
            *span = Span { file, ..*place };
            let _ = write!(places, "{at}:{}:{};", place.start, place.end);
        }
    })
    .file(file);
    places
}
