import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.config.Configuration;
import io.debezium.connector.oracle.OracleConnectorConfig;
import io.debezium.connector.oracle.logminer.UnistrHelper;
import io.debezium.connector.oracle.logminer.events.LogMinerEventRow;
import io.debezium.connector.oracle.logminer.parser.ExtendedStringParser;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlEntry;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlParser;
import io.debezium.connector.oracle.logminer.parser.SelectLobParser;
import io.debezium.connector.oracle.logminer.parser.SingleColumnSqlRedoPreambleParser;
import io.debezium.connector.oracle.logminer.parser.XmlBeginParser;
import io.debezium.relational.Table;
import io.debezium.relational.TableEditor;
import io.debezium.relational.TableId;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.sf.jsqlparser.expression.Expression;
import net.sf.jsqlparser.expression.Function;
import net.sf.jsqlparser.expression.NullValue;
import net.sf.jsqlparser.expression.StringValue;
import net.sf.jsqlparser.expression.operators.arithmetic.Concat;
import net.sf.jsqlparser.expression.operators.conditional.AndExpression;
import net.sf.jsqlparser.expression.operators.relational.EqualsTo;
import net.sf.jsqlparser.expression.operators.relational.ExpressionList;
import net.sf.jsqlparser.expression.operators.relational.IsNullExpression;
import net.sf.jsqlparser.parser.CCJSqlParser;
import net.sf.jsqlparser.parser.StringProvider;
import net.sf.jsqlparser.schema.Column;
import net.sf.jsqlparser.statement.Statement;
import net.sf.jsqlparser.statement.delete.Delete;
import net.sf.jsqlparser.statement.insert.Insert;
import net.sf.jsqlparser.statement.update.Update;
import net.sf.jsqlparser.statement.update.UpdateSet;

/**
 * What two parsers that are not ours make of statements: Debezium's own, and JSqlParser, which reads SQL.
 *
 * In: lines of JSON, each a statement, the same as SQL, and the columns of its table.  Out: a line of JSON
 * each, with what either parser says; null: it refuses.
 */
public class RedoParsers {
    private static final LogMinerDmlParser DEBEZIUM =
            new LogMinerDmlParser(new OracleConnectorConfig(Configuration.empty()));

    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = json.readTree(line);
            String text = asked.get("redo").asText();
            List<String> columns = new ArrayList<>();
            asked.get("columns").forEach(one -> columns.add(one.asText()));
            Map<String, Object> said = new LinkedHashMap<>();
            said.put("debezium", debezium(text, columns));
            said.put("begin", begin(text, columns));
            said.put("jsqlparser", jsqlparser(asked.get("sql").asText()));
            out.println(json.writeValueAsString(said));
            out.flush();
        }
    }

    private static Map<String, Object> debezium(String text, List<String> columns) {
        try {
            LogMinerDmlEntry entry = DEBEZIUM.parse(text, table(columns));
            Map<String, Object> said = new LinkedHashMap<>();
            said.put("operation", entry.getEventType().name());
            said.put("new", values(entry.getNewValues(), columns));
            said.put("old", values(entry.getOldValues(), columns));
            return said;
        } catch (RuntimeException refused) {
            return null;
        }
    }

    /** Whose large value a text begins, by those of Debezium's parsers that know these. */
    private static Map<String, Object> begin(String text, List<String> columns) {
        try {
            if (text.startsWith("XML")) {
                XmlBeginParser.XmlBegin read = new XmlBeginParser().parse(new XmlRow(text), table(columns));
                LogMinerDmlEntry entry = read.parsedEvent();
                return begin(entry.getObjectOwner(), entry.getObjectName(), read.columnName(), entry, columns);
            }
            boolean isLong = text.contains(" Stmt := '");
            SingleColumnSqlRedoPreambleParser parser = isLong ? new ExtendedStringParser() : new SelectLobParser();
            LogMinerDmlEntry entry = parser.parse(text, table(columns));
            return begin(entry.getObjectOwner(), entry.getObjectName(), parser.getColumnName(), entry, columns);
        } catch (RuntimeException refused) {
            return null;
        }
    }

    private static Map<String, Object> begin(
            String owner, String table, String column, LogMinerDmlEntry entry, List<String> columns) {
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("owner", owner);
        said.put("table", table);
        said.put("column", column);
        said.put("old", values(entry.getOldValues(), columns));
        return said;
    }

    private static final class XmlRow extends LogMinerEventRow {
        private final String text;

        private XmlRow(String text) {
            this.text = text;
        }

        @Override
        public String getRedoSql() {
            return text;
        }

        @Override
        public String getInfo() {
            return "XML sql_redo not re-executable";
        }
    }

    private static Table table(List<String> columns) {
        TableEditor table = Table.editor().tableId(new TableId(null, "S", "T"));
        columns.forEach(name -> table.addColumn(io.debezium.relational.Column.editor().name(name).create()));
        return table.create();
    }

    /** A column's value as it is, and what it says where it is UNISTR. */
    private static Map<String, Object> values(Object[] found, List<String> columns) {
        Map<String, Object> said = new LinkedHashMap<>();
        for (int i = 0; i < found.length; i++) {
            String value = (String) found[i];
            said.put(columns.get(i), value == null ? null : new String[] {value, unistr(value)});
        }
        return said;
    }

    private static String unistr(String value) {
        try {
            return UnistrHelper.isUnistrFunction(value) ? UnistrHelper.convert(value) : null;
        } catch (RuntimeException refused) {
            return null;
        }
    }

    private static Map<String, Object> jsqlparser(String text) {
        try {
            return statement(new CCJSqlParser(new StringProvider(text)).Statement());
        } catch (Exception | Error refused) { // its lexer throws errors
            return null;
        }
    }

    private static Map<String, Object> statement(Statement read) {
        List<Object> changes = new ArrayList<>();
        List<Object> conditions = new ArrayList<>();
        if (read instanceof Insert) {
            Insert insert = (Insert) read;
            List<?> values = insert.getValues().getExpressions();
            if (values.size() != insert.getColumns().size()) {
                throw new IllegalArgumentException("as many values as columns");
            }
            for (int i = 0; i < values.size(); i++) {
                changes.add(cell(insert.getColumns().get(i), (Expression) values.get(i)));
            }
            return said("INSERT", insert.getTable(), changes, conditions);
        }
        if (read instanceof Update) {
            Update update = (Update) read;
            for (UpdateSet set : update.getUpdateSets()) {
                changes.add(cell(set.getColumn(0), set.getValue(0)));
            }
            where(update.getWhere(), conditions);
            return said("UPDATE", update.getTable(), changes, conditions);
        }
        Delete delete = (Delete) read;
        where(delete.getWhere(), conditions);
        return said("DELETE", delete.getTable(), changes, conditions);
    }

    private static Map<String, Object> said(
            String operation, net.sf.jsqlparser.schema.Table table, List<Object> changes, List<Object> conditions) {
        Map<String, Object> said = new LinkedHashMap<>();
        said.put("operation", operation);
        said.put("owner", table.getSchemaName());
        said.put("table", table.getName());
        said.put("changes", changes);
        said.put("conditions", conditions);
        return said;
    }

    private static void where(Expression read, List<Object> conditions) {
        if (read instanceof AndExpression) {
            where(((AndExpression) read).getLeftExpression(), conditions);
            where(((AndExpression) read).getRightExpression(), conditions);
        } else if (read instanceof IsNullExpression && !((IsNullExpression) read).isNot()) {
            conditions.add(cell((Column) ((IsNullExpression) read).getLeftExpression(), new NullValue()));
        } else if (read != null) {
            EqualsTo same = (EqualsTo) read;
            conditions.add(cell((Column) same.getLeftExpression(), same.getRightExpression()));
        }
    }

    private static Object cell(Column column, Expression value) {
        List<Object> parts = new ArrayList<>();
        parts(value, parts);
        return List.of(column.getColumnName(), parts);
    }

    /** What a value is made of: one thing, or several that || joins; each is a word and a text. */
    private static void parts(Expression value, List<Object> parts) {
        if (value instanceof Concat) {
            parts(((Concat) value).getLeftExpression(), parts);
            parts(((Concat) value).getRightExpression(), parts);
        } else if (value instanceof StringValue) {
            parts.add(List.of("text", ((StringValue) value).getValue()));
        } else if (value instanceof Function) {
            ExpressionList<?> given = ((Function) value).getParameters();
            Object first = given == null || given.isEmpty() ? "" : given.get(0);
            String text = first instanceof StringValue ? ((StringValue) first).getValue() : first.toString();
            parts.add(List.of(((Function) value).getName(), text));
        } else {
            parts.add(List.of("sign", value.toString()));
        }
    }
}
