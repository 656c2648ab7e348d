// Names of months and weekdays, as parse_time() reads them.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace unroll {

// Written out and short, in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish and Scandinavian languages, each between blanks.
inline constexpr std::array<std::string_view, 12> month_names = {
    " january jan januar jän janvier janv enero ene gennaio gen janeiro januari styczeń stycznia sty ",
    " february feb februar février fevrier févr fév fev febrero febbraio fevereiro februari luty lutego lut ",
    " march mar märz maerz mär mrz mars marzo março marco maart mrt marts marzec marca ",
    " april apr avril avr abril abr aprile kwiecień kwietnia kwi ",
    " may mai mayo maggio mag maio mei maj maja ",
    " june jun juni juin junio giugno giu junho czerwiec czerwca cze ",
    " july jul juli juillet juil julio luglio lug julho lipiec lipca lip ",
    " august aug août aout aoû agosto ago augustus augusti sierpień sierpnia sie ",
    " september sep sept septembre septiembre settembre set setembro wrzesień września wrz ",
    " october oct oktober okt octobre octubre ottobre ott outubro out październik października paź ",
    " november nov novembre noviembre novembro listopad listopada lis ",
    " december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro desember des grudzień grudnia gru "};
inline constexpr std::array<std::string_view, 7> weekday_names = {
    " monday mon montag mo lundi lun lunes lunedì segunda seg maandag ma ",
    " tuesday tue tues dienstag di mardi mar martes martedì terça ter dinsdag ",
    " wednesday wed mittwoch mi mercredi mer miércoles mié mercoledì quarta qua woensdag wo ",
    " thursday thu thurs donnerstag do jeudi jeu jueves jue giovedì gio quinta qui donderdag ",
    " friday fri freitag fr vendredi ven viernes vie venerdì sexta sex vrijdag vr ",
    " saturday sat samstag sa samedi sam sábado sáb sabato sab zaterdag za ",
    " sunday sun sonntag so dimanche dim domingo dom domenica zondag zo "};

// 2025年3月1日(土), 令和7年3月1日, 民國114年3月1日 and 2025년 3월 1일 as 2025-03-01, 2025.03 월 as 2025-03, 2025年第一季度 as 2025 Q1,
// ม.ค. 2557 as Jan 2014. "": it is none of these.
std::string latin_time(std::string_view text);

}  // namespace unroll
