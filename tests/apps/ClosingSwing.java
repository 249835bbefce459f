/* A Swing program that asks "Save changes?" as it closes: java ClosingSwing.java */

import java.awt.event.WindowAdapter;
import java.awt.event.WindowEvent;
import javax.swing.JFrame;
import javax.swing.JOptionPane;
import javax.swing.SwingUtilities;

public class ClosingSwing {
    public static void main(String[] arguments) {
        SwingUtilities.invokeLater(() -> {
            JFrame frame = new JFrame("Closing");
            frame.setDefaultCloseOperation(JFrame.DO_NOTHING_ON_CLOSE);
            frame.addWindowListener(new WindowAdapter() {
                @Override
                public void windowClosing(WindowEvent event) {
                    if (JOptionPane.showConfirmDialog(frame, "Save?", "Save changes?", 1) != JOptionPane.CANCEL_OPTION) {
                        System.exit(0);
                    }
                }
            });
            frame.setSize(400, 200);
            frame.setVisible(true);
        });
    }
}
