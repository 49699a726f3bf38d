//! The language of a text, by its ISO 639-1 code.

use whatlang::{Detector, Lang};

/// Those that IFEval's detector knows and ours, too.
const LANGUAGES: [(&str, Lang); 48] = [
    ("af", Lang::Afr),
    ("ar", Lang::Ara),
    ("bg", Lang::Bul),
    ("bn", Lang::Ben),
    ("ca", Lang::Cat),
    ("cs", Lang::Ces),
    ("cy", Lang::Cym),
    ("da", Lang::Dan),
    ("de", Lang::Deu),
    ("el", Lang::Ell),
    ("en", Lang::Eng),
    ("es", Lang::Spa),
    ("et", Lang::Est),
    ("fa", Lang::Pes),
    ("fi", Lang::Fin),
    ("fr", Lang::Fra),
    ("gu", Lang::Guj),
    ("he", Lang::Heb),
    ("hi", Lang::Hin),
    ("hr", Lang::Hrv),
    ("hu", Lang::Hun),
    ("id", Lang::Ind),
    ("it", Lang::Ita),
    ("ja", Lang::Jpn),
    ("kn", Lang::Kan),
    ("ko", Lang::Kor),
    ("lt", Lang::Lit),
    ("lv", Lang::Lav),
    ("mk", Lang::Mkd),
    ("ml", Lang::Mal),
    ("mr", Lang::Mar),
    ("ne", Lang::Nep),
    ("nl", Lang::Nld),
    ("no", Lang::Nob),
    ("pa", Lang::Pan),
    ("pl", Lang::Pol),
    ("pt", Lang::Por),
    ("ro", Lang::Ron),
    ("ru", Lang::Rus),
    ("sk", Lang::Slk),
    ("sl", Lang::Slv),
    ("sv", Lang::Swe),
    ("ta", Lang::Tam),
    ("te", Lang::Tel),
    ("th", Lang::Tha),
    ("tl", Lang::Tgl),
    ("tr", Lang::Tur),
    ("vi", Lang::Vie),
];

/// Further ones.
const OTHERS: [(&str, Lang); 4] = [
    ("uk", Lang::Ukr),
    ("ur", Lang::Urd),
    ("zh", Lang::Cmn),
    ("zh-cn", Lang::Cmn),
];

/// Whether a text is in a language. A text without letters is in every language, as in IFEval. An
/// error says that the language is not known.
pub(super) fn is_in_language(text: &str, code: &str) -> Result<bool, String> {
    let all = || LANGUAGES.iter().chain(&OTHERS);
    let Some((_, wanted)) = all().find(|(known, _)| *known == code) else {
        return Err(format!(
            "the language `{code}` is not one that can be detected"
        ));
    };
    let known: Vec<Lang> = all().map(|(_, lang)| *lang).collect();
    Ok(Detector::with_allowlist(known)
        .detect_lang(text)
        .is_none_or(|found| found == *wanted))
}
