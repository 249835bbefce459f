import java.awt.Color;
import java.awt.Dimension;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;
import javax.swing.JButton;
import javax.swing.JFrame;
import javax.swing.JPanel;
import javax.swing.SwingUtilities;

/** The form of waiting_tk, of Swing. Run: java WaitingSwing.java URL */
public class WaitingSwing {
  static final Color FORM = new Color(0xcc0066), ANSWER = new Color(0x008855);

  /** Trusts the certificate that the test has made. */
  static final X509TrustManager TRUSTING =
      new X509TrustManager() {
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        public X509Certificate[] getAcceptedIssuers() {
          return new X509Certificate[0];
        }
      };

  static void ask(String url) throws Exception {
    var connection = (HttpURLConnection) new URI(url + "send").toURL().openConnection(Proxy.NO_PROXY);
    if (connection instanceof HttpsURLConnection) {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {TRUSTING}, new SecureRandom());
      ((HttpsURLConnection) connection).setSSLSocketFactory(context.getSocketFactory());
      ((HttpsURLConnection) connection).setHostnameVerifier((name, session) -> true);
    }
    connection.setRequestMethod("POST");
    connection.setDoOutput(true);
    connection.getOutputStream().write("amount=12".getBytes());
    connection.getInputStream().readAllBytes();
  }

  static void askInThread(String url, Runnable then) {
    new Thread(
            () -> {
              try {
                ask(url);
                SwingUtilities.invokeLater(then);
              } catch (Exception error) {
                error.printStackTrace();
              }
            })
        .start();
  }

  public static void main(String[] arguments) {
    SwingUtilities.invokeLater(
        () -> {
          var panel = new JPanel(null);
          var button = new JButton("Send");
          var block = new JPanel();
          panel.setPreferredSize(new Dimension(520, 320));
          button.setBounds(40, 40, 200, 60);
          block.setBounds(40, 120, 400, 160);
          block.setBackground(FORM);
          button.addActionListener(
              event -> {
                if (block.getBackground().equals(ANSWER)) {
                  block.setBackground(FORM);
                } else {
                  askInThread(arguments[0], () -> block.setBackground(ANSWER));
                }
              });
          panel.add(button);
          panel.add(block);
          var window = new JFrame("Slow form");
          window.setContentPane(panel);
          window.pack();
          window.setVisible(true);
        });
  }
}
