//! Pictures of layouts.

use cutec_layout::banks::access_ldmatrix;
use cutec_layout::draw::{
    Colour, TvTable, grid, grid_tv, svg, svg_access, svg_mma, svg_tables, svg_tv,
};
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

#[test]
fn a_table_of_threads_and_values() {
    let tv = parse_layout("(2,2):(2,1)").expect("a layout");
    let tile = parse_int_tuple("(2,2)").expect("a shape");
    let wanted = "\
C
       0      1 
  #======#======#
0 ‖ T0V0 | T1V0 ‖
  ‖------+------‖
1 ‖ T0V1 | T1V1 ‖
  #======#======#
";
    let table = TvTable::over("C", &tv, &tile);
    assert_eq!(grid_tv(&table).expect("a table"), wanted);
    // Two threads hold the same elements, and nobody holds the second column.
    let shared = parse_layout("(2,2):(0,1)").expect("a layout");
    let table = TvTable::over("C", &shared, &tile);
    let text = grid_tv(&table).expect("a table");
    assert!(text.contains("0 ‖ T0V0+ |       ‖"), "{text}");
    let open = parse_layout("(?,2):(2,1)").expect("a layout");
    assert!(grid_tv(&TvTable::over("C", &open, &tile)).is_err());
}

#[test]
fn a_picture_of_an_access_says_what_it_costs() {
    let picture = |text: &str| {
        let layout = parse_any_layout(text).expect("a layout");
        let access = access_ldmatrix(&layout, 16, 4, false).expect("an access");
        svg_access(&layout, &access, 16)
    };
    let conflict = picture("(8,64):(64,1)");
    assert_eq!(conflict.matches("<rect").count(), 512);
    assert_eq!(conflict.matches("#b00020").count(), 512);
    assert!(conflict.contains("8-way bank conflict: 64 wavefronts, 8 at best"));
    let none = picture("S<3,3,3> o 0 o (8,64):(64,1)");
    assert_eq!(none.matches("#b00020").count(), 0);
    assert!(none.contains("no bank conflict"));
}

#[test]
fn operands_of_a_matrix_multiplication_line_up() {
    let tile = parse_int_tuple("(16,8)").expect("a shape");
    let tv = parse_layout("((4,8),(2,2)):((32,1),(16,8))").expect("a layout");
    let table = TvTable::over("A", &tv, &tile);
    let picture = svg_mma("all <three>", &table, &table, &table).expect("a picture");
    assert_eq!(picture.matches("<rect").count(), 3 * 128);
    assert!(picture.contains("all &lt;three&gt;"));
    let picture = svg_tables("two", &[table.clone(), table]).expect("a picture");
    assert_eq!(picture.matches("<rect").count(), 2 * 128);
}
