/* Fields of Swing; what the first two hold is written to a file.

java FieldsSwing.java FILE */

import java.nio.file.Files;
import java.nio.file.Path;
import java.text.NumberFormat;
import java.text.ParseException;
import java.util.Locale;
import javax.swing.JFormattedTextField;
import javax.swing.JFrame;
import javax.swing.JPanel;
import javax.swing.JPasswordField;
import javax.swing.JTextField;
import javax.swing.SwingUtilities;
import javax.swing.Timer;
import javax.swing.text.MaskFormatter;

public class FieldsSwing {
    public static void main(String[] arguments) {
        SwingUtilities.invokeLater(() -> {
            JTextField plain = new JTextField(20);
            MaskFormatter digits = new MaskFormatter();
            try {
                digits.setMask("####");
            } catch (ParseException error) {
                throw new RuntimeException(error);
            }
            JFormattedTextField masked = new JFormattedTextField(digits);
            masked.setColumns(20);
            JFormattedTextField number = new JFormattedTextField(NumberFormat.getIntegerInstance(Locale.US));
            number.setColumns(20);
            JFormattedTextField money = new JFormattedTextField(NumberFormat.getCurrencyInstance(Locale.US));
            money.setColumns(20);
            JPanel panel = new JPanel();
            panel.add(plain);
            panel.add(masked);
            panel.add(number);
            panel.add(money);
            panel.add(new JPasswordField(20));
            JFrame frame = new JFrame("Fields");
            frame.add(panel);
            frame.setSize(400, 240);
            frame.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
            frame.setVisible(true);
            new Timer(50, event -> {
                try {
                    Files.writeString(Path.of(arguments[0]), plain.getText() + "|" + masked.getText().strip());
                } catch (Exception error) {
                    throw new RuntimeException(error);
                }
            }).start();
        });
    }
}
