//! Times as transcripts and logs write them.

use std::time::SystemTime;

use super::state::millis;

const DAY: i64 = 86_400_000;

/// Milliseconds since 1970 of `2026-11-30T13:44:13.267Z`; an offset instead of
/// the `Z` is understood. `None` for anything else and for years EverOS could
/// not store.
pub fn parse(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse::<i64>().ok())?
    };
    let separator = |at: usize, expected: &[u8]| {
        text.as_bytes()
            .get(at)
            .is_some_and(|byte| expected.contains(byte))
    };
    let shape = separator(4, b"-")
        && separator(7, b"-")
        && separator(10, b"Tt ")
        && separator(13, b":")
        && separator(16, b":");
    if !shape {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let valid = (1970..=9998).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut fraction = 0;
    if let Some(digits) = rest.strip_prefix('.') {
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        fraction = format!("{:0<3}", digits.get(..length)?)
            .get(..3)?
            .parse::<i64>()
            .ok()?;
        rest = digits.get(length..)?;
    }
    let offset = match rest.as_bytes() {
        b"Z" | b"z" | b"" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let two = |tens: u8, ones: u8| {
                Some(i64::from(
                    char::from(tens).to_digit(10)? * 10 + char::from(ones).to_digit(10)?,
                ))
            };
            let minutes = two(*h1, *h2)? * 60 + two(*m1, *m2)?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let seconds = (hour * 60 + minute - offset) * 60 + second;
    Some(days_before(year, month, day) * DAY + seconds * 1000 + fraction).filter(|at| *at > 0)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that the leap day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `2026-11-30T13:44:13Z` of milliseconds since 1970.
pub fn format(at: i64) -> String {
    let days = at.div_euclid(DAY) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let second = at.rem_euclid(DAY) / 1000;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// The present, as [`format()`] writes it.
pub fn now() -> String {
    format(millis(SystemTime::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (text, at) in [
            ("1970-01-01T00:00:01Z", 1_000),
            ("2000-02-29T23:59:59Z", 951_868_799_000),
            ("2026-11-30T13:44:13Z", 1_796_046_253_000),
            ("2100-03-01T00:00:00Z", 4_107_542_400_000),
        ] {
            assert_eq!(parse(text), Some(at), "{text}");
            assert_eq!(format(at), text);
        }
        assert_eq!(parse("2026-11-30T13:44:13.267Z"), Some(1_796_046_253_267));
        assert_eq!(
            parse("2026-11-30T15:44:13.2+02:00"),
            Some(1_796_046_253_200)
        );
        assert_eq!(
            parse("2026-11-30T13:44:13.267891Z"),
            Some(1_796_046_253_267)
        );
        for text in [
            "",
            "now",
            "2026-11-30",
            "2026-13-30T13:44:13Z",
            "2026-11-30T13:44:13X",
            "99999-11-30T13:44:13Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
