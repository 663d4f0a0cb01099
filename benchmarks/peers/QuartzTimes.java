// Times of Quartz cron expressions. Reads lines of zone, expression, start and end, separated by tabs; the last two are
// seconds. Writes the fire times with start <= t < end, in seconds and separated by spaces, one line for each line read.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Date;
import java.util.TimeZone;
import org.quartz.CronExpression;

public class QuartzTimes {
    public static void main(String[] arguments) throws Exception {
        BufferedReader reader = new BufferedReader(new InputStreamReader(System.in));
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            String[] parts = line.split("\t");
            CronExpression expression = new CronExpression(parts[1]);
            expression.setTimeZone(TimeZone.getTimeZone(parts[0]));
            long end = Long.parseLong(parts[3]) * 1000;
            StringBuilder times = new StringBuilder();
            Date time = expression.getNextValidTimeAfter(new Date(Long.parseLong(parts[2]) * 1000 - 1));
            while (time != null && time.getTime() < end) {
                times.append(times.length() > 0 ? " " : "").append(time.getTime() / 1000);
                time = expression.getNextValidTimeAfter(time);
            }
            System.out.println(times);
        }
    }
}
