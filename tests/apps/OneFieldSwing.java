import java.awt.Component;
import java.awt.Dimension;
import java.awt.Point;
import java.awt.Rectangle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.swing.BoxLayout;
import javax.swing.JComboBox;
import javax.swing.JFrame;
import javax.swing.JPanel;
import javax.swing.JScrollPane;
import javax.swing.JSpinner;
import javax.swing.JTable;
import javax.swing.JTextArea;
import javax.swing.JTextField;
import javax.swing.JTextPane;
import javax.swing.SwingUtilities;
import javax.swing.Timer;
import javax.swing.text.JTextComponent;
import javax.swing.text.SimpleAttributeSet;
import javax.swing.text.StyleConstants;

/** The fields of one_field_tk, of Swing. Run: java OneFieldSwing.java STATE */
public class OneFieldSwing {
  static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
  }

  static String at(Component shown, int x, int y) {
    Point corner = shown.getLocationOnScreen();
    return "[" + (corner.x + x) + ", " + (corner.y + y) + "]";
  }

  public static void main(String[] arguments) {
    SwingUtilities.invokeLater(() -> show(Path.of(arguments[0])));
  }

  static void show(Path state) {
    String[][] cells = new String[4][3];
    for (int row = 0; row < 4; row++) {
      for (int column = 0; column < 3; column++) {
        cells[row][column] = "r" + row + "c" + column;
      }
    }
    JTable table = new JTable(cells, new String[] {"c0", "c1", "c2"});
    table.setCellSelectionEnabled(true);
    JTextField entry = new JTextField("held before", 30), empty = new JTextField(30);
    JTextArea area = new JTextArea("first\n\nthird\nfourth\n", 6, 40);
    JTextPane rich = new JTextPane();
    rich.setText("first\nsecond third");
    SimpleAttributeSet bold = new SimpleAttributeSet();
    StyleConstants.setBold(bold, true);
    rich.getStyledDocument().setCharacterAttributes(6, 6, bold, false);
    JSpinner spin = new JSpinner();
    spin.setValue(12);
    JComboBox<String> combo = new JComboBox<>(new String[] {"one", "two", "three"});
    combo.setEditable(true);
    combo.setSelectedIndex(1);
    JTextComponent spun = ((JSpinner.DefaultEditor) spin.getEditor()).getTextField();
    JTextComponent combined = (JTextComponent) combo.getEditor().getEditorComponent();
    Map<String, JTextComponent> fields = new LinkedHashMap<>();
    fields.put("entry", entry);
    fields.put("empty", empty);
    fields.put("area", area);
    fields.put("rich", rich);
    fields.put("spin", spun);
    fields.put("combo", combined);
    JPanel whole = new JPanel();
    whole.setLayout(new BoxLayout(whole, BoxLayout.Y_AXIS));
    table.setPreferredScrollableViewportSize(new Dimension(420, 80));
    Component[] shown = {new JScrollPane(table), entry, empty, new JScrollPane(area), rich, spin, combo};
    for (Component each : shown) {
      whole.add(each);
    }
    JFrame frame = new JFrame("One field");
    frame.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
    frame.add(whole);
    frame.pack();
    frame.setVisible(true);
    new Timer(100, event -> tell(state, table, fields)).start();
  }

  static void tell(Path state, JTable table, Map<String, JTextComponent> fields) {
    StringBuilder told = new StringBuilder("{\"cells\": [");
    for (int row = 0; row < 4; row++) {
      told.append(row == 0 ? "[" : ", [");
      for (int column = 0; column < 3; column++) {
        told.append(column == 0 ? "" : ", ").append(quoted(table.getValueAt(row, column).toString()));
      }
      told.append("]");
    }
    Rectangle cell = table.getCellRect(1, 1, true);
    StringBuilder places = new StringBuilder(at(table, cell.x + 60, cell.y + cell.height / 2));
    told.append("], \"fields\": {");
    String comma = "";
    for (Map.Entry<String, JTextComponent> each : fields.entrySet()) {
      told.append(comma).append(quoted(each.getKey())).append(": ").append(quoted(each.getValue().getText()));
      comma = ", ";
      places.append(", ").append(quoted(each.getKey())).append(": ");
      places.append(at(each.getValue(), 20, each.getValue().getHeight() / 2));
    }
    told.append("}, \"at\": {\"table\": ").append(places).append("}}");
    try {
      Path fresh = Path.of(state + ".new");
      Files.writeString(fresh, told);
      Files.move(fresh, state, StandardCopyOption.ATOMIC_MOVE);
    } catch (java.io.IOException error) {
      error.printStackTrace();
    }
  }
}
