//! One page: follows what is drawn, and tells words and lines by where their letters stand.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use hayro_syntax::{
    content::{Instruction, UntypedIter},
    object::{Array, Dict, Name, Number, Object, ObjectIdentifier, Stream},
    page::Resources,
};

use super::font::Font;
use crate::MAX_TEXT;

/// How deep drawings are followed in one another.
const MAX_DEPTH: usize = 8;
/// A drawing within another costs as much as so many operators.
const COST_OF_DRAWING: usize = 250;
/// How many states a drawing may put aside.
const MAX_SAVED: usize = 256;
/// A gap of so many times the size of the letters parts words.
const WORD_GAP: f64 = 0.2;
/// A step up or down of so many times the size of the letters begins a line.
const LINE_STEP: f64 = 0.4;
/// A step back of so many times the size of the letters begins a line.
const BACK_STEP: f64 = 1.0;

/// The operators that move, choose or draw letters, and those around them.
const FOLLOWED: [&[u8]; 19] = [
    b"q", b"Q", b"cm", b"BT", b"Tm", b"Td", b"TD", b"T*", b"TL", b"Tc", b"Tw", b"Tz", b"Tf", b"Do",
    b"BI", b"Tj", b"'", b"\"", b"TJ",
];

/// The fonts of a file, by their objects.
pub(super) type Fonts = RefCell<HashMap<ObjectIdentifier, Rc<Font>>>;

/// A matrix `[a b c d e f]` as PDF has them.
#[derive(Clone, Copy)]
struct Matrix([f64; 6]);

impl Matrix {
    const ONE: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// First this one, then the other.
    fn then(self, other: Matrix) -> Matrix {
        let ([a, b, c, d, e, f], [p, q, r, s, t, u]) = (self.0, other.0);
        Matrix([
            a * p + b * r,
            a * q + b * s,
            c * p + d * r,
            c * q + d * s,
            e * p + f * r + t,
            e * q + f * s + u,
        ])
    }

    fn shifted(self, x: f64, y: f64) -> Matrix {
        Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(self)
    }

    fn origin(self) -> (f64, f64) {
        (self.0[4], self.0[5])
    }
}

/// The state of a drawing that `q` puts aside.
#[derive(Clone)]
struct State {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    /// The width of letters, 1 if they are as wide as their font has them.
    stretch: f64,
    leading: f64,
}

/// The end of the latest letters on the page.
struct Pen {
    x: f64,
    y: f64,
    /// The direction of their line, of length one.
    along: (f64, f64),
    size: f64,
}

/// The text drawn on a page.
pub(super) struct Drawing<'f> {
    fonts: &'f Rc<Fonts>,
    state: State,
    saved: Vec<State>,
    /// Where the next letters stand, and where their line began.
    text: Matrix,
    line: Matrix,
    pen: Option<Pen>,
    out: String,
    operators: usize,
    has_picture: bool,
    /// Letters whose font does not say which they are.
    unknown: usize,
}

impl<'f> Drawing<'f> {
    pub(super) fn new(fonts: &'f Rc<Fonts>, operators: usize) -> Drawing<'f> {
        let state = State {
            matrix: Matrix::ONE,
            font: None,
            size: 1.0,
            letter_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
        };
        Drawing {
            fonts,
            state,
            saved: Vec::new(),
            text: Matrix::ONE,
            line: Matrix::ONE,
            pen: None,
            out: String::new(),
            operators,
            has_picture: false,
            unknown: 0,
        }
    }

    /// How many operators may still be followed.
    pub(super) fn operators_left(&self) -> usize {
        self.operators
    }

    /// The text, and why it is not all there is.
    pub(super) fn end(self) -> (String, &'static str) {
        let text = tidied(&self.out);
        let note = if self.operators == 0 {
            "the rest is left out: too much is drawn in this file"
        } else if !text.is_empty() && self.unknown * 2 > text.len() {
            "much of this page is left out: its fonts do not say which letters they draw"
        } else if !text.is_empty() {
            ""
        } else if self.unknown > 0 {
            "this page cannot be read: its fonts do not say which letters they draw"
        } else if self.has_picture {
            "this page is a picture: it has no text"
        } else {
            "this page has no text"
        };
        (text, note)
    }

    /// Follows the operators of a page, or of a drawing within it.
    pub(super) fn follow(
        &mut self,
        mut operators: UntypedIter<'_>,
        resources: &Resources<'_>,
        depth: usize,
    ) {
        let saved_before = self.saved.len();
        while let Some(operator) = operators.next() {
            self.operators = self.operators.saturating_sub(1);
            if self.operators == 0 || self.out.len() > MAX_TEXT {
                return;
            }
            self.step(&operator, resources, depth);
        }
        if let Some(state) = self.saved.drain(saved_before.min(self.saved.len())..).next() {
            self.state = state;
        }
    }

    fn step(&mut self, operator: &Instruction<'_, '_>, resources: &Resources<'_>, depth: usize) {
        let name: &[u8] = operator.operator;
        if !FOLLOWED.contains(&name) {
            return;
        }
        let operands: Vec<&Object<'_>> = operator.operands().collect();
        let numbers: Vec<f64> = operands.iter().filter_map(|operand| number(operand)).collect();
        match (name, numbers.as_slice()) {
            (b"q", _) if self.saved.len() < MAX_SAVED => self.saved.push(self.state.clone()),
            (b"Q", _) => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            (b"cm", &[a, b, c, d, e, f]) => {
                self.state.matrix = Matrix([a, b, c, d, e, f]).then(self.state.matrix);
            }
            (b"BT", _) => self.begin_line(Matrix::ONE),
            (b"Tm", &[a, b, c, d, e, f]) => self.begin_line(Matrix([a, b, c, d, e, f])),
            (b"Td", &[x, y]) => self.begin_line(self.line.shifted(x, y)),
            (b"TD", &[x, y]) => {
                self.state.leading = -y;
                self.begin_line(self.line.shifted(x, y));
            }
            (b"T*", _) => self.next_line(),
            (b"TL", &[leading]) => self.state.leading = leading,
            (b"Tc", &[space]) => self.state.letter_space = space,
            (b"Tw", &[space]) => self.state.word_space = space,
            (b"Tz", &[percent]) => self.state.stretch = percent / 100.0,
            (b"Tf", &[size]) => {
                self.state.size = size;
                if let Some(Object::Name(name)) = operands.first() {
                    self.state.font = self.font(name, resources);
                }
            }
            (b"Do", _) => {
                if let Some(Object::Name(name)) = operands.first() {
                    self.draw(name, resources, depth);
                }
            }
            (b"BI", _) => self.has_picture = true,
            (b"Tj", _) => self.show_all(&operands),
            (b"'", _) => {
                self.next_line();
                self.show_all(&operands);
            }
            (b"\"", &[words, letters]) => {
                self.state.word_space = words;
                self.state.letter_space = letters;
                self.next_line();
                self.show_all(&operands);
            }
            (b"TJ", _) => {
                if let Some(Object::Array(pieces)) = operands.first() {
                    self.show_pieces(pieces);
                }
            }
            _ => {}
        }
    }

    fn begin_line(&mut self, at: Matrix) {
        self.line = at;
        self.text = at;
    }

    fn next_line(&mut self) {
        self.begin_line(self.line.shifted(0.0, -self.state.leading));
    }

    fn show_all(&mut self, operands: &[&Object<'_>]) {
        for operand in operands {
            if let Object::String(codes) = operand {
                self.show(codes.as_bytes());
            }
        }
    }

    /// Letters, and steps between them in thousandths of their size.
    fn show_pieces(&mut self, pieces: &Array<'_>) {
        for piece in pieces.iter::<Object<'_>>() {
            match &piece {
                Object::String(codes) => self.show(codes.as_bytes()),
                Object::Number(step) => {
                    let x = -step.as_f64() / 1000.0 * self.state.size * self.state.stretch;
                    self.text = self.text.shifted(x, 0.0);
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, codes: &[u8]) {
        let Some(font) = self.state.font.clone() else { return };
        for code in font.codes(codes) {
            self.step_to();
            match font.letters(code) {
                Some(letters) => self.out.push_str(&letters),
                None => self.unknown += 1,
            }
            let mut width = font.width(code) * self.state.size + self.state.letter_space;
            if code.is_blank() {
                width += self.state.word_space;
            }
            self.text = self.text.shifted(width * self.state.stretch, 0.0);
            self.note_end();
        }
    }

    /// Puts a blank or a line end where the next letters stand apart from the latest.
    fn step_to(&mut self) {
        let Some(pen) = &self.pen else { return };
        if self.out.is_empty() || self.out.ends_with(['\n', ' ']) {
            return;
        }
        let (x, y) = self.text.then(self.state.matrix).origin();
        let (right, up) = (x - pen.x, y - pen.y);
        let (cos, sin) = pen.along;
        let (forth, aside) = (right * cos + up * sin, up * cos - right * sin);
        if aside.abs() > LINE_STEP * pen.size || forth < -BACK_STEP * pen.size {
            self.out.push('\n');
        } else if forth > WORD_GAP * pen.size {
            self.out.push(' ');
        }
    }

    fn note_end(&mut self) {
        let all = self.text.then(self.state.matrix);
        let (x, y) = all.origin();
        let [a, b, c, d, ..] = all.0;
        let size = c.hypot(d) * self.state.size.abs();
        let length = a.hypot(b);
        let along = if length > 0.0 { (a / length, b / length) } else { (1.0, 0.0) };
        self.pen = Some(Pen { x, y, along, size });
    }

    /// A picture, or a drawing with operators of its own.
    fn draw(&mut self, name: &Name<'_>, resources: &Resources<'_>, depth: usize) {
        let Some(object) = resources.get_x_object(name) else { return };
        let dict = object.dict();
        let kind = dict.get::<Name<'_>>("Subtype");
        if kind.as_deref() == Some(b"Image") {
            self.has_picture = true;
            return;
        }
        if kind.as_deref() != Some(b"Form") || depth == MAX_DEPTH {
            return;
        }
        self.operators = self.operators.saturating_sub(COST_OF_DRAWING);
        if self.operators == 0 {
            return;
        }
        let Ok(content) = object.decoded_data() else { return };
        let before = (self.state.clone(), self.text, self.line);
        if let Some(matrix) = dict.get::<Array<'_>>("Matrix") {
            let six: Vec<f64> = matrix.iter::<Number>().map(|it| it.as_f64()).collect();
            if let Ok(six) = six.try_into() {
                self.state.matrix = Matrix(six).then(self.state.matrix);
            }
        }
        match dict.get::<Dict<'_>>("Resources") {
            Some(own) => self.follow(UntypedIter::new(&content), &Resources::new(own), depth + 1),
            None => self.follow(UntypedIter::new(&content), resources, depth + 1),
        }
        (self.state, self.text, self.line) = before;
    }

    fn font(&self, name: &Name<'_>, resources: &Resources<'_>) -> Option<Rc<Font>> {
        let dict = resources.get_font(name)?;
        let Some(id) = dict.obj_id() else { return Some(Rc::new(Font::of(&dict))) };
        if let Some(known) = self.fonts.borrow().get(&id) {
            return Some(known.clone());
        }
        let font = Rc::new(Font::of(&dict));
        self.fonts.borrow_mut().insert(id, font.clone());
        Some(font)
    }
}

fn number(object: &Object<'_>) -> Option<f64> {
    match object {
        Object::Number(number) => Some(number.as_f64()),
        _ => None,
    }
}

/// A text without blanks at the ends of its lines, with at most one empty line at a time.
fn tidied(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim();
        if !line.is_empty() {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// The stream of an entry, unpacked.
pub(super) fn unpacked(dict: &Dict<'_>, key: &str) -> Option<Vec<u8>> {
    let stream = dict.get::<Stream<'_>>(key)?;
    Some(stream.decoded_data().ok()?.into_owned())
}
