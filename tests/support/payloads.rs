//! Texts that try to become more than texts on a page. What runs sets `__hit`, asks for something,
//! or opens a dialog.
#![allow(dead_code, reason = "each test program uses a part of it")]

/// A name for messages, and the text.
pub fn all() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> = FIXED
        .iter()
        .map(|(name, text)| (*name, (*text).to_owned()))
        .collect();
    all.extend([
        (
            "a huge line",
            format!(
                "{}<script>__hit='huge line'</script>",
                "long ".repeat(200_000)
            ),
        ),
        (
            "a huge word",
            format!(
                "{}<img src=x onerror=\"__hit='huge word'\">",
                "w".repeat(100_000)
            ),
        ),
        (
            "many lines",
            format!(
                "{}<script>__hit='many lines'</script>",
                "line\n".repeat(20_000)
            ),
        ),
        (
            "deep JSON",
            format!(
                "{}\"</script><script>__hit='deep'</script>\"{}",
                "[".repeat(100),
                "]".repeat(100)
            ),
        ),
        ("deep markup", format!("{}x", "<div><b>".repeat(2_000))),
        (
            "C0 controls",
            (1u8..32)
                .map(char::from)
                .chain("controls\u{7f}".chars())
                .collect(),
        ),
        (
            "C1 controls",
            (0x80u32..0xa0)
                .filter_map(char::from_u32)
                .chain("controls".chars())
                .collect(),
        ),
        (
            "combining marks",
            format!("Z{}algo", "\u{0301}\u{0316}".repeat(300)),
        ),
        (
            "tags",
            "<b>"
                .chars()
                .filter_map(|c| char::from_u32(0xe0000 + u32::from(c)))
                .chain("tagged".chars())
                .collect(),
        ),
    ]);
    all
}

const FIXED: &[(&str, &str)] = &[
    ("script", "<script>__hit='script'</script>"),
    (
        "script that ends ours",
        "</script><script>__hit='ended'</script>",
    ),
    (
        "script that ends ours, odd spelling",
        "</ScRiPt\t/><sCrIpT>__hit='odd'</ScRiPt>",
    ),
    ("comment and script", "<!--<script>__hit='comment'</script>"),
    ("comment that hides the rest", "<!--"),
    ("end of CDATA", "]]><script>__hit='cdata'</script><![CDATA["),
    ("image", "<img src=x onerror=\"__hit='image'\">"),
    (
        "image from elsewhere",
        "<img src=\"https://hostile.invalid/beacon.png\">",
    ),
    (
        "image, Markdown",
        "![x](https://hostile.invalid/beacon.png) [y](javascript:__hit='md')",
    ),
    (
        "image, set of sources",
        "<picture><source srcset=//hostile.invalid/p.png><img></picture>",
    ),
    (
        "SVG",
        "<svg onload=\"__hit='svg'\"><script>__hit='svg script'</script></svg>",
    ),
    (
        "SVG, animation",
        "<svg><animate onbegin=\"__hit='animate'\" attributeName=x dur=1s></svg>",
    ),
    (
        "SVG, use",
        "<svg><use href=\"data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'/>#x\"></svg>",
    ),
    (
        "SVG, foreign object",
        "<svg><foreignObject><iframe src=javascript:__hit='fo'></iframe></foreignObject></svg>",
    ),
    (
        "MathML",
        "<math><mtext><table><mglyph><style><img src=x onerror=__hit='math'></style></mglyph></table></mtext></math>",
    ),
    (
        "MathML, link",
        "<math href=\"javascript:__hit='mathlink'\">click</math>",
    ),
    (
        "link that is a script",
        "<a href=\"javascript:__hit='link'\">click</a>",
    ),
    ("address that is a script", "javascript:__hit='address'//"),
    (
        "address that is a script, hidden",
        "\u{1}java\tscript\n:__hit='address'",
    ),
    (
        "address that is a page",
        "data:text/html,<script>__hit='data'</script>",
    ),
    (
        "attribute, double",
        "\" autofocus onfocus=\"__hit='double'\" x=\"",
    ),
    ("attribute, single", "' autofocus onfocus='__hit=1' x='"),
    ("attribute, backtick", "` onmouseover=__hit='backtick' `"),
    (
        "attribute, style",
        "\" style=\"background:url(https://hostile.invalid/s)\" x=\"",
    ),
    (
        "details",
        "<details open ontoggle=\"__hit='details'\">x</details>",
    ),
    (
        "video",
        "<video src=https://hostile.invalid/v onerror=\"__hit='video'\" autoplay></video>",
    ),
    (
        "object",
        "<object data=\"javascript:__hit='object'\"></object><embed src=javascript:__hit='embed'>",
    ),
    (
        "frame",
        "<iframe srcdoc=\"<script>parent.__hit='frame'</script>\"></iframe>",
    ),
    (
        "frame that is a script",
        "<iframe src=\"javascript:parent.__hit='frame script'\"></iframe>",
    ),
    (
        "form",
        "<form id=app action=https://hostile.invalid/><button autofocus>go</button><input name=attributes></form>",
    ),
    (
        "clobbering",
        "<a id=report><a id=report name=textContent><form id=cases><img name=getAttribute></form><p id=main>",
    ),
    ("base", "<base href=\"https://hostile.invalid/\">"),
    (
        "refresh",
        "<meta http-equiv=\"refresh\" content=\"0;url=https://hostile.invalid/\">",
    ),
    (
        "policy",
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src *\">",
    ),
    (
        "style sheet",
        "</style><style>*{background:url(https://hostile.invalid/css)}</style>",
    ),
    (
        "style sheet from elsewhere",
        "<link rel=stylesheet href=https://hostile.invalid/x.css><style>@import 'https://hostile.invalid/y.css'</style>",
    ),
    (
        "prefetch",
        "<link rel=prefetch href=https://hostile.invalid/p><link rel=dns-prefetch href=//hostile.invalid>",
    ),
    ("title", "</title><script>__hit='title'</script>"),
    (
        "noscript",
        "</noscript><img src=x onerror=\"__hit='noscript'\">",
    ),
    (
        "textarea",
        "</textarea></template></select></table><script>__hit='textarea'</script>",
    ),
    (
        "template, braces",
        "{{constructor.constructor('__hit=1')()}} {% set x = 1 %}",
    ),
    (
        "template, dollar",
        "${__hit='dollar'} `${alert(1)}` <%= 7*7 %>",
    ),
    (
        "JSON's own end",
        "\"}],\"x\":[{\"\\u003c/script\\u003e\":1}]}",
    ),
    (
        "escapes",
        "\\u003cscript\\u003e__hit='escapes'\\u003c/script\\u003e \\x3cimg\\x3e \\ud800 \\0",
    ),
    (
        "entities",
        "&lt;script&gt;__hit='entities'&lt;/script&gt; &#60;img src=x&#62; &amp;lt; &colon;",
    ),
    (
        "order turned round",
        "abc\u{202e}gnp.exe\u{202c} \u{2066}x\u{2069} \u{200f}\u{061c}end",
    ),
    (
        "nothing to see",
        "in\u{200b}vis\u{200d}ible\u{feff} \u{2060}\u{00ad}\u{180e}word",
    ),
    ("NUL", "before\0after<script>__hit='nul'</script>"),
    ("line separators", "one\u{2028}two\u{2029}three\u{85}four"),
    ("terminal", "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}?25l"),
    (
        "not characters",
        "\u{fffe}\u{ffff}\u{1fffe}\u{fffd}private\u{e000}\u{10ffff}",
    ),
    ("prototype", "__proto__"),
    ("constructor", "constructor"),
    ("own property", "hasOwnProperty"),
    ("to string", "toString"),
    ("huge number", "123456789012345678901234567890e999999"),
    ("not a number", "NaN"),
    ("path", "../../../../etc/passwd"),
    ("address", "a/b%2Fc%#x&y=z?q=1+2 %zz %u0041;,:@"),
    ("our address", "#case=x/y&view=cases"),
    ("shell", "$(touch /tmp/hit) `id` '; rm -rf ~ #"),
    ("characters", "日本語 🏳️‍🌈 עברית العربية ﷽ ＜script＞"),
];
