import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;

/** Runs Hive's metastore over a new database, set by system properties: HiveMetastore -p PORT. */
class HiveMetastore {
  public static void main(String[] given) throws Throwable {
    TxnDbUtil.prepDb(new HiveConf()); // the tables of its locks, which else are an operator's to make
    HiveMetaStore.main(given);
  }
}
