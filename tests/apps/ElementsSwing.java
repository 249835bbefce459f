/* One of each common control of Swing, for a reader of elements. Presses of "Ask" open a dialog.

java ElementsSwing.java [PAGE [ROWS]] */

import java.awt.FlowLayout;
import java.awt.event.InputEvent;
import java.awt.event.KeyEvent;
import java.awt.image.BufferedImage;
import javax.swing.ButtonGroup;
import javax.swing.ImageIcon;
import javax.swing.JButton;
import javax.swing.JCheckBox;
import javax.swing.JComboBox;
import javax.swing.JFrame;
import javax.swing.JLabel;
import javax.swing.JList;
import javax.swing.JMenu;
import javax.swing.JMenuBar;
import javax.swing.JMenuItem;
import javax.swing.JOptionPane;
import javax.swing.JPanel;
import javax.swing.JPasswordField;
import javax.swing.JRadioButton;
import javax.swing.JScrollPane;
import javax.swing.JSlider;
import javax.swing.JSpinner;
import javax.swing.JTabbedPane;
import javax.swing.JTable;
import javax.swing.JTextArea;
import javax.swing.JTextField;
import javax.swing.JTree;
import javax.swing.KeyStroke;
import javax.swing.SpinnerNumberModel;
import javax.swing.SwingUtilities;

public class ElementsSwing {
    static JPanel form(JFrame frame) {
        JPanel form = new JPanel(new FlowLayout(FlowLayout.LEFT));
        JTextField supplier = new JTextField("Ada Supplies", 14);
        JLabel label = new JLabel("Supplier");
        label.setLabelFor(supplier);
        JPasswordField pin = new JPasswordField("1234", 8);
        pin.getAccessibleContext().setAccessibleName("Pin");
        JCheckBox urgent = new JCheckBox("Urgent", true);
        JRadioButton paper = new JRadioButton("Paper"), mail = new JRadioButton("Mail", true);
        ButtonGroup sent = new ButtonGroup();
        sent.add(paper);
        sent.add(mail);
        JComboBox<String> terms = new JComboBox<>(new String[] {"7 days", "14 days", "30 days"});
        terms.setSelectedIndex(1);
        JLabel about = new JLabel("Terms");
        about.setLabelFor(terms);
        JSpinner copies = new JSpinner(new SpinnerNumberModel(3, 1, 9, 1));
        copies.getAccessibleContext().setAccessibleName("Copies");
        JSlider share = new JSlider(0, 100, 40);
        share.getAccessibleContext().setAccessibleName("Share");
        JButton print = new JButton(new ImageIcon(new BufferedImage(16, 16, BufferedImage.TYPE_INT_RGB)));
        print.setToolTipText("Print");
        JButton ask = new JButton("Ask");
        ask.addActionListener(event -> JOptionPane.showConfirmDialog(frame, "Really store it?", "Question", 0));
        JTextArea remark = new JTextArea("first line\nsecond line", 3, 20);
        remark.getAccessibleContext().setAccessibleName("Remark");
        Object[] all = {label, supplier, pin, urgent, paper, mail, about, terms, copies, share, print, ask};
        for (Object each : all) form.add((java.awt.Component) each);
        form.add(new JScrollPane(remark));
        return form;
    }

    static JTabbedPane pages(JFrame frame, int count) {
        String[][] rows = new String[count][];
        for (int row = 0; row < rows.length; row++) {
            rows[row] = new String[] {"R-" + (100 + row), "Item " + row, "" + 10 * row};
        }
        JTable table = new JTable(rows, new String[] {"Number", "Item", "Amount"});
        table.setRowSelectionInterval(2, 2);
        JPanel lists = new JPanel(new FlowLayout(FlowLayout.LEFT));
        lists.add(new JScrollPane(new JList<>(new String[] {"Berlin", "Paris", "Rome"})));
        lists.add(new JScrollPane(new JTree()));
        JTabbedPane pages = new JTabbedPane();
        pages.addTab("Form", form(frame));
        pages.addTab("Table", new JScrollPane(table));
        pages.addTab("Lists", lists);
        return pages;
    }

    public static void main(String[] arguments) {
        SwingUtilities.invokeLater(() -> {
            JFrame frame = new JFrame("Elements");
            JMenuItem save = new JMenuItem("Save");
            save.setAccelerator(KeyStroke.getKeyStroke(KeyEvent.VK_S, InputEvent.CTRL_DOWN_MASK));
            JMenu file = new JMenu("File");
            file.add(save);
            JMenu more = new JMenu("Export");
            more.add(new JMenuItem("As text"));
            more.add(new JMenuItem("As a picture of the whole page"));
            file.add(more);
            JMenuBar bar = new JMenuBar();
            bar.add(file);
            frame.setJMenuBar(bar);
            JTabbedPane pages = pages(frame, arguments.length > 1 ? Integer.parseInt(arguments[1]) : 40);
            pages.setSelectedIndex(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0);
            frame.add(pages);
            frame.setSize(640, 420);
            frame.setLocation(90, 70);
            frame.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
            frame.setVisible(true);
        });
    }
}
