fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        match cutec_frontend::format::format(&path, &text) {
            Ok(out) => {
                match cutec_frontend::format::format(&path, &out) {
                    Ok(again) if again == out => {}
                    _ => eprintln!("{path}: NOT IDEMPOTENT"),
                }
                if std::env::var("W").is_ok() {
                    std::fs::write(&path, &out).unwrap();
                }
            }
            Err(cutec_frontend::format::Refused::Unfaithful) => eprintln!("{path}: UNFAITHFUL"),
            Err(_) => eprintln!("{path}: wrong"),
        }
    }
}
