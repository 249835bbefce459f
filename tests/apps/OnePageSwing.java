import java.awt.GridLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import javax.swing.JButton;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.JTextField;
import javax.swing.SwingUtilities;

/** A form on one page with four fields and the button Save, which appends a line to a file. */
public class OnePageSwing {
  public static void main(String[] arguments) {
    var file = Path.of(arguments[0]);
    SwingUtilities.invokeLater(
        () -> {
          var frame = new JFrame("Suppliers");
          var panel = new JPanel(new GridLayout(0, 2, 12, 12));
          var fields = new ArrayList<JTextField>();
          for (var label : new String[] {"Number", "Name", "City", "Phone"}) {
            panel.add(new JLabel(label));
            fields.add(new JTextField(14));
            panel.add(fields.get(fields.size() - 1));
          }
          var said = new JLabel(" ");
          var save = new JButton("Save");
          save.addActionListener(
              event -> {
                var line = String.join("|", fields.stream().map(JTextField::getText).toList());
                try {
                  Files.writeString(
                      file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
                } catch (java.io.IOException error) {
                  error.printStackTrace();
                }
                said.setText("Saved as " + fields.get(0).getText());
                for (var field : fields) field.setText("");
              });
          panel.add(save);
          panel.add(said);
          frame.add(panel);
          frame.setSize(480, 300);
          frame.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
          frame.setVisible(true);
        });
  }
}
