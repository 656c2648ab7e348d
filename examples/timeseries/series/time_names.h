// Names of months and weekdays, as parse_time() reads them.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "data/lower_case.h"

namespace unroll {

// Written out and short, in the languages of Europe and in Turkish and Indonesian, each between blanks.
// clang-format off
inline constexpr std::array<std::string_view, 12> month_names = {
    " january jan januar jän janvier janv enero ene gennaio gen janeiro januari styczeń stycznia sty gener január ianuarie ian "
    "leden ledna ocak oca tammikuu tammi январь января янв січень січня януари ιανουάριος ιανουαρίου ιαν ",
    " february feb februar février fevrier févr fév fev febrero febbraio fevereiro februari luty lutego lut febrer február febr februarie "
    "únor února şubat şub helmikuu helmi февраль февраля фев февр лютий лютого февруари φεβρουάριος φεβρουαρίου φεβ ",
    " march mar märz maerz mär mrz mars marzo março marco maart mrt marts marzec marca març március márc martie maret "
    "březen března mart maaliskuu maalis март марта мар березень березня μάρτιος μαρτίου μαρ μάρ ",
    " april apr avril avr abril abr aprile kwiecień kwietnia kwi április ápr aprilie "
    "duben dubna nisan nis huhtikuu huhti апрель апреля апр квітень квітня април απρίλιος απριλίου απρ ",
    " may mai mayo maggio mag maio mei maj maja maig május máj "
    "květen května mayıs toukokuu touko май мая травень травня μάιος μαΐου μάι μαϊ ",
    " june jun juni juin junio giugno giu junho czerwiec czerwca cze juny június jún iunie iun "
    "červen června haziran haz kesäkuu kesä июнь июня июн червень червня юни ιούνιος ιουνίου ιούν ιουν ",
    " july jul juli juillet juil julio luglio lug julho lipiec lipca lip juliol július júl iulie iul "
    "červenec července temmuz tem heinäkuu heinä июль июля июл липень липня юли ιούλιος ιουλίου ιούλ ιουλ ",
    " august aug août aout aoû agosto ago augustus augusti sierpień sierpnia sie agost augusztus agustus agu agt "
    "srpen srpna ağustos ağu elokuu август августа авг серпень серпня αύγουστος αυγούστου αυγ ",
    " september sep sept septembre septiembre settembre set setembro wrzesień września wrz setembre szeptember szept septembrie "
    "září eylül eyl syyskuu syys сентябрь сентября сен сент вересень вересня септември σεπτέμβριος σεπτεμβρίου σεπ ",
    " october oct oktober okt octobre octubre ottobre ott outubro out październik października paź október octombrie "
    "říjen října ekim eki lokakuu loka октябрь октября окт жовтень жовтня октомври οκτώβριος οκτωβρίου οκτ ",
    " november nov novembre noviembre novembro listopad listopada lis noiembrie noi "
    "listopadu kasım kas marraskuu marras ноябрь ноября ноя нояб листопад листопада ноември νοέμβριος νοεμβρίου νοε ",
    " december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro desember des grudzień grudnia gru desembre decembrie "
    "prosinec prosince aralık ara joulukuu joulu декабрь декабря дек грудень грудня декември δεκέμβριος δεκεμβρίου δεκ "};
inline constexpr std::array<std::string_view, 7> weekday_names = {
    " monday mon montag mo lundi lun lunes lunedì segunda seg maandag ma mandag man måndag mån "
    "poniedziałek pon maanantai pazartesi pzt понедельник пн понеділок δευτέρα ",
    " tuesday tue tues dienstag di mardi mar martes martedì terça ter dinsdag ma tirsdag tir tisdag tis "
    "wtorek wt tiistai ti salı sal вторник вт вівторок τρίτη ",
    " wednesday wed mittwoch mi mercredi mer miércoles mié mercoledì me quarta qua woensdag wo onsdag ons "
    "środa śr keskiviikko ke çarşamba çar среда ср середа τετάρτη ",
    " thursday thu thurs donnerstag do jeudi jeu jueves jue je ju giovedì gio quinta qui donderdag torsdag tor tors "
    "czwartek czw torstai to perşembe per четверг чт четвер πέμπτη ",
    " friday fri freitag fr vendredi ven viernes vie ve vi venerdì sexta sex vrijdag vr fredag fre "
    "piątek pt perjantai pe cuma cum пятница пт παρασκευή ",
    " saturday sat samstag sa samedi sam sábado sáb sabato sab zaterdag za lørdag lør lördag lör "
    "sobota sob lauantai la cumartesi cmt суббота сб субота σάββατο ",
    " sunday sun sonntag so dimanche dim domingo dom domenica zondag zo di do søndag søn söndag sön "
    "niedziela nd sunnuntai su pazar paz воскресенье вс неділя κυριακή "};
// clang-format on
inline constexpr std::array<const char*, 7> weekdays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                        "Friday", "Saturday", "Sunday"};
// Whether a name of one of those above is the word, in capitals or not.
bool is_name(std::string_view names, std::string_view word);
// The index of a word among months or weekdays; -1: it is none's name.
int place_among(std::span<const std::string_view> names, std::string_view word);

// 2025年3月1日(土), 令和7年3月1日, 民國114年3月1日 and 2025년 3월 1일 as 2025-03-01, 2025.03 월 as 2025-03, 2025年第一季度 as 2025 Q1,
// ม.ค. 2557 as Jan 2014. "": it is none of these.
std::string latin_time(std::string_view text);

}  // namespace unroll
