import com.fasterxml.jackson.databind.ObjectMapper;
import io.apicurio.registry.utils.converter.AvroConverter;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Date;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;

/**
 * What Kafka Connect's Avro converter makes of record values.
 *
 * In: lines of hex, each a record's value; the registry's address as the only argument.
 * Out: a line of JSON each. A value stands beside its schema's type and name; what JSON can't carry
 * exactly (numbers, bytes, dates) is text.
 */
public class ReadByConnect {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("apicurio.registry.url", arguments[0]);
        settings.put("apicurio.registry.as-confluent", true);
        settings.put("apicurio.registry.use-id", "contentId");
        ObjectMapper json = new ObjectMapper();
        AvroConverter<Object> converter = new AvroConverter<>();
        converter.configure(settings, false);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            SchemaAndValue read = converter.toConnectData("any", HexFormat.of().parseHex(line));
            System.out.println(json.writeValueAsString(seen(read.schema(), read.value())));
        }
        converter.close();
    }

    private static Map<String, Object> seen(Schema schema, Object value) {
        Map<String, Object> made = new LinkedHashMap<>();
        made.put("type", schema.type().getName());
        made.put("name", schema.name());
        made.put("parameters", schema.parameters());
        made.put("value", value == null ? null : plain(schema, value));
        return made;
    }

    private static Object plain(Schema schema, Object value) {
        if (value instanceof Struct) {
            Map<String, Object> fields = new LinkedHashMap<>();
            for (Field field : schema.fields()) {
                fields.put(field.name(), seen(field.schema(), ((Struct) value).get(field)));
            }
            return fields;
        }
        if (value instanceof List) {
            List<Object> elements = new ArrayList<>();
            for (Object element : (List<?>) value) {
                elements.add(element == null ? null : plain(schema.valueSchema(), element));
            }
            return elements;
        }
        if (value instanceof java.util.Date) {
            return String.valueOf(Date.fromLogical(schema, (java.util.Date) value));
        }
        if (value instanceof BigDecimal) {
            return ((BigDecimal) value).toPlainString();
        }
        if (value instanceof ByteBuffer) {
            byte[] bytes = new byte[((ByteBuffer) value).remaining()];
            ((ByteBuffer) value).duplicate().get(bytes);
            return HexFormat.of().formatHex(bytes);
        }
        return String.valueOf(value);
    }
}
