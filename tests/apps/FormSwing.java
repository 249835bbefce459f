import java.awt.FlowLayout;
import java.awt.Font;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import javax.swing.JButton;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JTextField;
import javax.swing.SwingUtilities;

/** Three buttons and a field of Swing: what is pressed is written to a file. Run: java FormSwing.java FILE */
public class FormSwing {
  static JButton button(String label, Path file) {
    var button = new JButton(label);
    button.setFont(new Font(Font.SANS_SERIF, Font.PLAIN, 18));
    button.addActionListener(
        event -> {
          try {
            Files.writeString(file, label + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
          } catch (java.io.IOException error) {
            error.printStackTrace();
          }
        });
    return button;
  }

  public static void main(String[] arguments) {
    var file = Path.of(arguments[0]);
    SwingUtilities.invokeLater(
        () -> {
          var frame = new JFrame("Supplier form");
          frame.setLayout(new FlowLayout(FlowLayout.LEFT, 24, 24));
          frame.add(new JLabel("Name"));
          frame.add(new JTextField("Ada Supplies", 16));
          for (var label : new String[] {"Save", "Delete", "Close"}) frame.add(button(label, file));
          frame.setSize(480, 300);
          frame.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
          frame.setVisible(true);
        });
  }
}
