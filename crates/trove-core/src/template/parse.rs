//! Takes a template apart into literals and expressions.
//!
//! Accepts templates as servers write them: any printable literal, and `-` in names, which the RFC
//! forbids. Refuses those that would make matching ambiguous or unbounded.

use std::ops::Range;

/// The longest template that is compiled. Offsets are kept in sixteen bits.
pub const MAX_TEMPLATE_BYTES: usize = 4096;
/// The most `{…}` in one template.
pub const MAX_EXPRESSIONS: usize = 32;
/// The most variables in one template, counting repeated ones. The matcher remembers in
/// sixty-four bits which of them it has met.
pub const MAX_VARIABLES: usize = 64;

/// The prefix modifier of the RFC has at most four digits.
const MAX_PREFIX_DIGITS: usize = 4;
/// The value of [`Variable::max`] without a prefix modifier.
pub(super) const NO_LIMIT: u16 = u16::MAX - 1;

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {at}")]
pub struct TemplateError {
    pub fault: TemplateFault,
    /// Where, in bytes from the start.
    pub at: usize,
}

/// A fault of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    /// More than [`MAX_TEMPLATE_BYTES`].
    #[error("the template is longer than {MAX_TEMPLATE_BYTES} bytes")]
    TooLong,
    /// More than [`MAX_EXPRESSIONS`].
    #[error("more than {MAX_EXPRESSIONS} expressions")]
    TooManyExpressions,
    /// More than [`MAX_VARIABLES`].
    #[error("more than {MAX_VARIABLES} variables")]
    TooManyVariables,
    /// A `{` without its `}`.
    #[error("`{{` is not closed")]
    NotClosed,
    /// A `}` without its `{`.
    #[error("`}}` closes nothing")]
    NotOpened,
    /// A control character, a space or a bad escape outside braces.
    #[error("a character that no URI holds")]
    BadLiteral,
    /// An operator that the RFC keeps for later: one of `= , ! @ |`.
    #[error("unknown operator {0:?}")]
    UnknownOperator(char),
    /// No name, or a character that no name holds.
    #[error("not a variable name")]
    BadName,
    /// Not `:1` to `:9999`.
    #[error("not a prefix length from 1 to 9999")]
    BadPrefix,
}

/// A piece of the template's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u16,
    end: u16,
}

impl Span {
    /// The ends of any text, list of variables or list of steps here fit: all are
    /// bounded by `MAX_TEMPLATE_BYTES`.
    pub(super) fn new(start: usize, end: usize) -> Span {
        Span { start: small(start), end: small(end) }
    }

    pub(super) fn range(self) -> Range<usize> {
        usize::from(self.start)..usize::from(self.end)
    }

    pub(super) fn len(self) -> usize {
        self.range().len()
    }

    /// This and what follows it up to the end of `next`.
    pub(super) fn through(self, next: Span) -> Span {
        Span { start: self.start, end: next.end }
    }
}

pub(super) fn small(number: usize) -> u16 {
    u16::try_from(number).expect("templates are at most MAX_TEMPLATE_BYTES long")
}

/// The operator after `{`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

impl Operator {
    fn of(sign: u8) -> Option<Operator> {
        Some(match sign {
            b'+' => Operator::Reserved,
            b'#' => Operator::Fragment,
            b'.' => Operator::Label,
            b'/' => Operator::Path,
            b';' => Operator::Parameter,
            b'?' => Operator::Query,
            b'&' => Operator::Continuation,
            _ => return None,
        })
    }

    /// The character that the expansion starts with, e.g. `?` for `{?q}`.
    pub(super) fn first(self) -> Option<u8> {
        match self {
            Operator::Simple | Operator::Reserved => None,
            Operator::Fragment => Some(b'#'),
            Operator::Query => Some(b'?'),
            _ => Some(self.separator()),
        }
    }

    /// The character between two variables, e.g. `&` for `{?a,b}`.
    pub(super) fn separator(self) -> u8 {
        match self {
            Operator::Simple | Operator::Reserved | Operator::Fragment => b',',
            Operator::Label => b'.',
            Operator::Path => b'/',
            Operator::Parameter => b';',
            Operator::Query | Operator::Continuation => b'&',
        }
    }

    /// Whether each value follows its name, as in `?name=value`.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Operator::Parameter | Operator::Query | Operator::Continuation)
    }

    /// Whether expansion leaves reserved characters as they are.
    pub(super) fn keeps_reserved(self) -> bool {
        matches!(self, Operator::Reserved | Operator::Fragment)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) name: Span,
    /// The most characters of the value, from the prefix modifier; or [`NO_LIMIT`].
    pub(super) max: u16,
    pub(super) exploded: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Literal(Span),
    Expression {
        operator: Operator,
        /// Which of [`Parsed::variables`].
        variables: Span,
        /// The text with its braces.
        source: Span,
    },
}

#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) text: Box<str>,
    pub(super) parts: Box<[Part]>,
    pub(super) variables: Box<[Variable]>,
}

impl Parsed {
    pub(super) fn of(text: &str) -> Result<Parsed, TemplateError> {
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(fault(TemplateFault::TooLong, MAX_TEMPLATE_BYTES));
        }
        let (mut parts, mut variables) = (Vec::new(), Vec::new());
        let mut expressions = 0;
        let mut at = 0;
        while at < text.len() {
            let open = text[at..].find('{').map_or(text.len(), |found| at + found);
            if open > at {
                check_literal(text, at..open)?;
                parts.push(Part::Literal(Span::new(at, open)));
            }
            if open == text.len() {
                break;
            }
            expressions += 1;
            if expressions > MAX_EXPRESSIONS {
                return Err(fault(TemplateFault::TooManyExpressions, open));
            }
            let close = text[open..].find('}').ok_or(fault(TemplateFault::NotClosed, open))? + open;
            let first_variable = variables.len();
            let operator = parse_expression(text, open + 1..close, &mut variables)?;
            parts.push(Part::Expression {
                operator,
                variables: Span::new(first_variable, variables.len()),
                source: Span::new(open, close + 1),
            });
            at = close + 1;
        }
        Ok(Parsed { text: text.into(), parts: parts.into(), variables: variables.into() })
    }

    pub(super) fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    pub(super) fn name(&self, variable: usize) -> &str {
        self.slice(self.variables[variable].name)
    }
}

fn fault(fault: TemplateFault, at: usize) -> TemplateError {
    TemplateError { fault, at }
}

fn check_literal(text: &str, range: Range<usize>) -> Result<(), TemplateError> {
    let bytes = &text.as_bytes()[..range.end];
    for at in range {
        match bytes[at] {
            b'}' => return Err(fault(TemplateFault::NotOpened, at)),
            // A literal that ends inside an escape would let a value finish it.
            b'%' if !is_escape(&bytes[at..]) => {
                return Err(fault(TemplateFault::BadLiteral, at));
            }
            byte if byte <= b' ' || byte == 0x7f => {
                return Err(fault(TemplateFault::BadLiteral, at));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the text starts with a percent-encoded byte, e.g. `%2F`.
pub(super) fn is_escape(bytes: &[u8]) -> bool {
    matches!(bytes, [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// Adds the variables of the expression between two braces.
fn parse_expression(
    text: &str,
    body: Range<usize>,
    variables: &mut Vec<Variable>,
) -> Result<Operator, TemplateError> {
    let mut start = body.start;
    let sign = text.as_bytes()[start];
    let operator = Operator::of(sign);
    if operator.is_some() {
        start += 1;
    } else if matches!(sign, b'=' | b',' | b'!' | b'@' | b'|') {
        return Err(fault(TemplateFault::UnknownOperator(char::from(sign)), start));
    }
    for spec in text[start..body.end].split(',') {
        if variables.len() == MAX_VARIABLES {
            return Err(fault(TemplateFault::TooManyVariables, start));
        }
        variables.push(parse_variable(spec, start)?);
        start += spec.len() + 1;
    }
    Ok(operator.unwrap_or(Operator::Simple))
}

/// One variable that starts at byte `at` of the template, e.g. `name`, `name*` or `name:3`.
fn parse_variable(spec: &str, at: usize) -> Result<Variable, TemplateError> {
    let (name, max, exploded) = match spec.split_once(':') {
        Some((name, digits)) => (name, parse_prefix(digits, at + name.len() + 1)?, false),
        None => match spec.strip_suffix('*') {
            Some(name) => (name, NO_LIMIT, true),
            None => (spec, NO_LIMIT, false),
        },
    };
    let bytes = name.as_bytes();
    let bad = (0..bytes.len()).find(|&nth| match bytes[nth] {
        b'%' => !is_escape(&bytes[nth..]),
        byte => !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.' | b'-'),
    });
    match bad {
        Some(nth) => Err(fault(TemplateFault::BadName, at + nth)),
        None if name.is_empty() => Err(fault(TemplateFault::BadName, at)),
        None => Ok(Variable { name: Span::new(at, at + name.len()), max, exploded }),
    }
}

fn parse_prefix(digits: &str, at: usize) -> Result<u16, TemplateError> {
    let is_number = digits.len() <= MAX_PREFIX_DIGITS
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !digits.starts_with('0');
    let parsed = if is_number { digits.parse().ok() } else { None };
    parsed.ok_or(fault(TemplateFault::BadPrefix, at))
}
