//! Pictures of layouts.

use cutec_layout::draw::{Colour, grid, svg, svg_tv};
use cutec_layout::text::{parse_any_layout, parse_int_tuple, parse_layout};

#[test]
fn a_table() {
    let layout = parse_any_layout("((2,2),3):((1,4),8)").expect("a layout");
    let wanted = "\
((2,2),3):((1,4),8)
     0    1    2 
  #====#====#====#
0 ‖  0 |  8 | 16 ‖
  ‖----+----+----‖
1 ‖  1 |  9 | 17 ‖
  #====#====#====#
2 ‖  4 | 12 | 20 ‖
  ‖----+----+----‖
3 ‖  5 | 13 | 21 ‖
  #====#====#====#
";
    assert_eq!(grid(&layout), wanted);
    let row = parse_any_layout("4:2").expect("a layout");
    assert!(grid(&row).contains("0 ‖ 0 | 2 | 4 | 6 ‖"), "{}", grid(&row));
    let open = parse_any_layout("(?,4):(4,1)").expect("a layout");
    assert!(grid(&open).contains("nothing to draw"));
    let large = parse_any_layout("(1000,1000):(1000,1)").expect("a layout");
    assert!(grid(&large).contains("256 of 1000 rows"));
}

#[test]
fn pictures() {
    let layout = parse_any_layout("S<2,0,2> o 0 o (4,4):(4,1)").expect("a layout");
    let picture = svg(&layout, Colour::Bank { elem_bits: 32 });
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    assert_eq!(picture.matches("<rect").count(), 16);
    assert!(picture.contains("S&lt;2,0,2&gt;"));
    let tv = parse_layout("((4,8),(2,2)):((32,1),(16,8))").expect("a layout");
    let tile = parse_int_tuple("(16,8)").expect("a shape");
    let picture = svg_tv(&tv, &tile).expect("a picture");
    assert_eq!(picture.matches("<rect").count(), 128);
    assert!(picture.contains(">T31</text>") && picture.contains(">V3</text>"));
    assert!(svg_tv(&parse_layout("4:1").expect("a layout"), &tile).is_err());
}
