import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import java.net.InetSocketAddress;

/** Serves a catalogue in a folder as Iceberg's REST catalogues do: RestCatalogue PORT WAREHOUSE DATABASE. */
class RestCatalogue {
  public static void main(String[] given) throws Exception {
    var properties =
        Map.of(
            "type", "jdbc",
            "uri", "jdbc:sqlite:" + given[2],
            "jdbc.schema-version", "V1",
            "warehouse", given[1]);
    var catalogue = CatalogUtil.buildIcebergCatalog("behind", properties, new Configuration());
    var paths = new ServletContextHandler();
    paths.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalogue))), "/*");
    var server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(given[0])));
    server.setHandler(paths);
    server.start();
  }
}
